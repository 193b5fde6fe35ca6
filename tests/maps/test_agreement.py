"""Agreement between maps, against known cases."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from headatlas.errors import MapError
from headatlas.maps import agreement


def as_map(values):
    return xr.DataArray(values, dims=("layer", "head"))


@pytest.fixture
def noisy_pair():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(30, 9))
    return x, 0.7 * x + generator.normal(size=(30, 9))


def test_correlations_are_those_of_scipy(noisy_pair):
    x, y = noisy_pair
    found = agreement(as_map(x), as_map(y))
    assert found.pearson == pytest.approx(stats.pearsonr(x.ravel(), y.ravel())[0])
    assert found.spearman == pytest.approx(stats.spearmanr(x.ravel(), y.ravel())[0])
    assert found.pearson_interval[0] < found.pearson < found.pearson_interval[1]
    known = stats.pearsonr(x.ravel(), y.ravel()).confidence_interval()
    assert found.pearson_interval == pytest.approx((known.low, known.high), abs=0.04)


def test_equal_and_opposite_maps(noisy_pair):
    x, _ = noisy_pair
    same = agreement(as_map(x), as_map(x), top_k=10)
    assert (same.pearson, same.spearman, same.top_overlap) == pytest.approx((1, 1, 1))
    opposite = agreement(as_map(x), as_map(-x), top_k=10)
    assert (opposite.spearman, opposite.top_overlap) == pytest.approx((-1, 0))
    assert opposite.top_expected == pytest.approx(10 / 270)


def test_missing_heads_are_left_out(noisy_pair):
    x, y = noisy_pair
    x = x.copy()
    x[0] = np.nan
    assert agreement(as_map(x), as_map(y)).heads == 29 * 9


def test_a_constant_map_has_no_correlation(noisy_pair):
    assert np.isnan(agreement(as_map(np.ones((30, 9))), as_map(noisy_pair[1]), draws=10).pearson)


def test_maps_that_do_not_compare(noisy_pair):
    x, _ = noisy_pair
    with pytest.raises(MapError, match="maps of different models"):
        agreement(as_map(x), as_map(x[:10]))
    with pytest.raises(MapError, match="aggregate or select first"):
        agreement(xr.DataArray(x[None], dims=("seed", "layer", "head")), as_map(x))
    with pytest.raises(MapError, match="at least 3 heads in common"):
        agreement(as_map(np.full((30, 9), np.nan)), as_map(x))
