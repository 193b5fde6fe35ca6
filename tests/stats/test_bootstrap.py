"""Bootstrap resamples, against resampling by hand."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headatlas.maps.aggregate import mean_bounds
from headatlas.stats.bootstrap import resamples


def test_the_quantiles_are_those_of_resampled_means():
    values = np.random.default_rng(0).normal(size=(12, 2))
    sampled = resamples((values,), np.mean, draws=4000, seed=0, axis=0)
    assert sampled.shape == (2, 4000)
    rng = np.random.default_rng(1)
    means = np.array([values[rng.integers(0, 12, 12)].mean(0) for _ in range(4000)])
    for level in (0.025, 0.5, 0.975):
        np.testing.assert_allclose(
            np.quantile(sampled, level, axis=-1), np.quantile(means, level, axis=0), atol=0.05
        )


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    values = np.random.default_rng(0).normal(size=(30, 1000))
    sampled = resamples((values,), np.mean, draws=400, seed=0, axis=0)
    low, high = np.quantile(sampled, [0.025, 0.975], axis=-1)
    assert 0.90 < np.mean((low <= 0) & (high >= 0)) < 0.98


def test_of_five_values_they_cover_too_seldom_and_students_do_not():
    """Why intervals over seeds are Student's."""
    values = np.random.default_rng(0).normal(size=(5, 2000))
    sampled = resamples((values,), np.mean, draws=400, seed=0, axis=0)
    low, high = np.quantile(sampled, [0.025, 0.975], axis=-1)
    assert 0.78 < np.mean((low <= 0) & (high >= 0)) < 0.86
    bounds = mean_bounds(xr.DataArray(values, dims=("seed", "head")))
    assert 0.93 < float(((bounds[0] <= 0) & (bounds[1] >= 0)).mean()) < 0.97


def test_the_same_seed_gives_the_same_resamples():
    x = np.random.default_rng(0).normal(size=20)
    one, same, other = (resamples((x,), np.mean, draws=20, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_two_arrays_are_resampled_together():
    x = np.random.default_rng(0).normal(size=20)
    gaps = resamples((x, x + 3), lambda a, b: float((b - a).mean()), draws=50, seed=0)
    assert gaps.shape == (50,)
    assert gaps == pytest.approx(3)
