"""Agreement between two arrays of heads, against known cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headatlas.errors import MapError
from headatlas.stats.agreement import agreement_of


@pytest.fixture
def noisy_pair():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 9))
    return x, 0.7 * x + rng.normal(size=(30, 9))


def test_correlations_are_those_of_scipy(noisy_pair):
    x, y = noisy_pair
    result = agreement_of(x, y)
    assert result.spearman == pytest.approx(stats.spearmanr(x.ravel(), y.ravel())[0])
    error = (1 + result.spearman**2 / 2) ** 0.5 / (x.size - 3) ** 0.5  # Bonett and Wright
    known = np.tanh(np.arctanh(result.spearman) + np.array([-1.96, 1.96]) * error)
    assert result.spearman_interval == pytest.approx(known, abs=0.03)


def test_equal_and_opposite_maps(noisy_pair):
    x, _ = noisy_pair
    same = agreement_of(x, x, top_k=10, draws=20)
    assert (same.spearman, same.top_overlap) == pytest.approx((1, 1))
    opposite = agreement_of(x, -x, top_k=10, draws=20)
    assert (opposite.spearman, opposite.top_overlap) == pytest.approx((-1, 0))
    assert opposite.top_p == pytest.approx(1)


def test_the_overlap_of_the_top_heads_stands_beside_chance():
    x = np.arange(12.0).reshape(3, 4)
    x[1] += 10  # the top four are the middle layer's first head to last
    y = x.copy()
    y[1, 3], y[2, 3] = y[2, 3], y[1, 3]
    result = agreement_of(x, y, top_k=4, draws=20)
    assert result.top_overlap == 0.75
    # all four heads of the middle layer against three of them: chance leaves no other number
    assert (result.top_p, result.top_expected) == pytest.approx((1, 0.75))
    one_layer = agreement_of(x.ravel(), y.ravel(), top_k=4, draws=20)
    # of 495 ways to draw 4 of 12 heads, 4 · 8 share three with the top four, and one shares all
    assert (one_layer.top_p, one_layer.top_expected) == pytest.approx((33 / 495, 4 / 12))
    assert agreement_of(x, y, top_k=100, draws=20).top_k == 12


def test_maps_that_share_their_depth_alone_do_not_share_top_heads():
    rng = np.random.default_rng(0)
    passed = []
    for _ in range(200):
        depth = rng.normal(size=(30, 1))
        pair = (depth + rng.normal(size=(30, 9)) for _ in range(2))
        passed.append(agreement_of(*pair, draws=2).top_p <= 0.05)
    assert np.mean(passed) < 0.08


def test_ties_are_no_shared_top_heads():
    """Maps that are 0 but for a few random heads: which heads come next is open."""
    rng = np.random.default_rng(0)
    passed = []
    for _ in range(200):
        pair = np.zeros((2, 270))
        for own in pair:
            own[rng.choice(270, 8, replace=False)] = rng.uniform(1, 2, 8)
        found = agreement_of(*pair.reshape(2, 30, 9), draws=2)
        assert found.top_k == 8
        passed.append(found.top_p <= 0.05)
    assert np.mean(passed) < 0.08
    flat = agreement_of(np.zeros((30, 9)), pair[0].reshape(30, 9), draws=2)
    assert flat.top_k == 0
    assert np.isnan([flat.top_overlap, flat.top_p, flat.top_expected]).all()


def test_missing_heads_are_left_out(noisy_pair):
    x, y = noisy_pair
    x = x.copy()
    x[0] = np.nan
    assert agreement_of(x, y, draws=20).heads == 29 * 9


def test_a_constant_map_has_no_correlation(noisy_pair):
    assert np.isnan(agreement_of(np.ones((30, 9)), noisy_pair[1], draws=10).spearman)


def test_maps_that_do_not_compare(noisy_pair):
    x, _ = noisy_pair
    with pytest.raises(ValueError, match="different shapes"):
        agreement_of(x, x[:10])
    with pytest.raises(MapError, match="at least 3 heads in common"):
        agreement_of(np.full((30, 9), np.nan), x)
    with pytest.raises(MapError, match="at least 1, not 0"):
        agreement_of(x, x, top_k=0)
