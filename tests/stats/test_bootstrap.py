"""Bootstrap intervals over seeds."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headatlas.stats.bootstrap import bootstrap_interval, resamples

DIMS = ("seed", "layer", "head")


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    values = xr.DataArray(np.random.default_rng(0).normal(size=(30, 40, 25)), dims=DIMS)
    bounds = bootstrap_interval(values, draws=400)
    assert bounds.dims == ("bound", "layer", "head")
    covered = (bounds.sel(bound="lower") <= 0) & (bounds.sel(bound="upper") >= 0)
    assert 0.90 < float(covered.mean()) < 0.98
    assert (bootstrap_interval(values, draws=50) == bootstrap_interval(values, draws=50)).all()


def test_the_interval_is_that_of_resampled_means():
    values = np.random.default_rng(0).normal(size=(12, 1, 2))
    bounds = bootstrap_interval(xr.DataArray(values, dims=DIMS), draws=4000)
    rng = np.random.default_rng(1)
    means = np.array([values[rng.integers(0, 12, 12)].mean(0) for _ in range(4000)])
    known = np.quantile(means, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(bounds, known, atol=0.05)


def test_one_seed_has_no_width():
    values = xr.DataArray([[[1.0, 2.0]]], dims=DIMS)
    bounds = bootstrap_interval(values)
    assert bounds.to_numpy().tolist() == [[[1.0, 2.0]], [[1.0, 2.0]]]


def test_two_arrays_are_resampled_together():
    x = np.random.default_rng(0).normal(size=20)
    gaps = resamples((x, x + 3), lambda a, b: float((b - a).mean()), draws=50, seed=0)
    assert gaps.shape == (50,)
    assert gaps == pytest.approx(3)
