"""Resampled heads: whole layers where there are enough."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headatlas.maps.aggregate import mean_bounds
from headatlas.stats.agreement import agreement_of
from headatlas.stats.bootstrap import MIN_LAYERS, resampled_heads, resampled_units


def test_whole_layers_are_drawn():
    drawn = resampled_heads(np.ones((10, 4), bool), draws=50, seed=0)
    assert drawn.shape == (50, 40)
    layers = drawn.reshape(50, 10, 4)
    assert (np.diff(layers, axis=-1) == 1).all()
    assert (layers[..., 0] % 4 == 0).all()
    assert set(np.unique(drawn)) == set(range(40))


def test_heads_are_drawn_where_layers_are_few_or_of_different_sizes():
    few = resampled_heads(np.ones((MIN_LAYERS - 1, 4), bool), draws=20, seed=0)
    assert (np.diff(few.reshape(20, -1, 4), axis=-1) != 1).any()
    uneven = np.ones((10, 4), bool)
    uneven[0, 0] = False
    assert resampled_heads(uneven, draws=20, seed=0).shape == (20, 39)


def test_what_is_drawn_is_counted():
    """Layers, or heads where layers are few or of different sizes."""
    assert resampled_units(np.ones((10, 4), bool)) == 10
    assert resampled_units(np.ones((MIN_LAYERS - 1, 4), bool)) == 4 * (MIN_LAYERS - 1)
    uneven, missing = np.ones((10, 4), bool), np.ones((10, 4), bool)
    uneven[0, 0] = False
    missing[0] = False
    assert resampled_units(uneven) == 39
    assert resampled_units(missing) == 9
    assert resampled_units(np.array([True, False, True])) == 2


def test_the_same_seed_gives_the_same_resamples():
    known = np.ones((10, 4), bool)
    one, same, other = (resampled_heads(known, draws=20, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_a_bootstrap_of_five_values_covers_too_seldom_and_students_interval_does_not():
    """Why intervals over seeds are Student's."""
    values = np.random.default_rng(0).normal(size=(5, 2000))
    drawn = np.random.default_rng(1).integers(0, 5, (400, 5))
    low, high = np.quantile(values[drawn].mean(1), [0.025, 0.975], axis=0)
    assert 0.78 < np.mean((low <= 0) & (high >= 0)) < 0.86
    bounds = mean_bounds(xr.DataArray(values, dims=("seed", "head")))
    assert 0.93 < float(((bounds[0] <= 0) & (bounds[1] >= 0)).mean()) < 0.97


def unrelated(rng, layers=30, heads=9, likeness=0.5):
    """Two unrelated maps in which the heads of a layer are alike."""
    return (
        np.sqrt(likeness) * rng.normal(size=(layers, 1))
        + np.sqrt(1 - likeness) * rng.normal(size=(layers, heads))
        for _ in range(2)
    )


def test_unrelated_maps_whose_layers_are_alike_seldom_seem_to_agree():
    """Over heads the interval would leave out 0 in one case of five."""
    rng = np.random.default_rng(0)
    wrong = {True: 0, False: 0}
    for _ in range(100):
        one, other = unrelated(rng)
        for by_layer in wrong:
            pair = (one, other) if by_layer else (one.ravel(), other.ravel())
            low, high = agreement_of(*pair, draws=200).spearman_interval
            wrong[by_layer] += not low <= 0 <= high
    assert wrong[True] <= 10
    assert wrong[False] >= 12
