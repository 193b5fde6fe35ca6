"""Permutation tests: they find what is there, and seldom what is not."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.stats.permutation import consistency_p, max_null_p

ONE_LAYER = np.zeros(270, int)
LAYERS = np.arange(270) // 9


def test_one_seed_has_no_p_values():
    assert np.isnan(consistency_p(np.array([[9.0, 0.0, 0.0]]), np.zeros(3, int))).all()


def test_a_head_that_is_first_in_ten_seeds_passes():
    scores = np.random.default_rng(0).uniform(size=(10, 270))
    scores[:, 17] = 1.0
    p = consistency_p(scores, LAYERS)
    assert p[17] <= 0.001 + 1e-12
    assert (np.delete(p, 17) > 0.05).all()


def test_three_seeds_are_too_few_where_many_heads_score_near_one():
    """By chance 270 × 0.3³ = 7 heads are near 1 in all of three seeds, 0.002 in all of ten."""
    scores = (np.random.default_rng(0).uniform(size=(10, 270)) < 0.3).astype(float)
    scores[:, 17] = 1.0
    assert consistency_p(scores[:3], ONE_LAYER)[17] > 0.95
    assert consistency_p(scores, ONE_LAYER)[17] < 0.01


def test_a_head_that_is_first_in_one_seed_does_not_pass():
    scores = np.zeros((10, 270))
    scores[np.arange(10), np.arange(10)] = 1.0
    assert (consistency_p(scores, LAYERS, permutations=200) > 0.05).all()


def test_scores_that_depend_on_the_layer_alone_are_not_consistent():
    """Shuffled over all heads, those of the strongest layers would pass."""
    rng = np.random.default_rng(0)
    scores = 2 * rng.normal(size=30)[LAYERS] + rng.normal(size=(10, 270))
    assert (consistency_p(scores, ONE_LAYER) <= 0.05).sum() > 20
    assert (consistency_p(scores, LAYERS) > 0.05).all()


def test_a_head_that_is_alone_in_its_layer_has_no_p_value():
    scores = np.random.default_rng(0).uniform(size=(4, 5))
    p = consistency_p(scores, np.array([0, 0, 1, 2, 2]), permutations=50)
    assert np.isnan(p).tolist() == [False, False, True, False, False]


def test_heads_that_a_seed_does_not_have_change_nothing_for_the_others():
    scores = np.random.default_rng(0).uniform(size=(5, 40))
    layers = np.arange(40) // 10
    scores[:, 17] = 1.0
    missing = scores.copy()
    missing[2, [3, 30]] = np.nan
    known = np.isfinite(missing).all(0)
    p = consistency_p(missing, layers)
    assert np.isnan(p).tolist() == (~known).tolist()
    np.testing.assert_array_equal(p[known], consistency_p(scores[:, known], layers[known]))
    assert np.isnan(consistency_p(np.full((5, 40), np.nan), layers)).all()


def test_uniform_noise_seldom_passes():
    """Over all heads together at most 5 % of data sets may have a head with p ≤ 0.05."""
    rng = np.random.default_rng(0)
    passed = [
        consistency_p(rng.uniform(size=(5, 30)), np.arange(30) // 6, permutations=99, seed=i).min()
        <= 0.05
        for i in range(400)
    ]
    assert 0.01 < np.mean(passed) < 0.085


def test_the_smallest_p_value_is_that_of_the_number_of_permutations():
    scores = np.zeros((6, 50))
    scores[:, 3] = 1.0
    assert consistency_p(scores, np.zeros(50, int), permutations=99)[3] == pytest.approx(1 / 100)


def test_max_null_p_counts_the_permutations_whose_largest_head_is_as_large():
    null = np.array([[-1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, -1.0]])
    assert max_null_p(np.array([2.0, 0.5]), null) == pytest.approx([1 / 5, 5 / 5])


def test_max_null_p_is_calibrated_for_heads_of_different_spread():
    rng = np.random.default_rng(0)
    spread = np.geomspace(0.01, 100, 20)
    passed = []
    for _ in range(600):
        draws = rng.normal(size=(200, 20)) * spread
        passed.append(max_null_p(draws[0], draws[1:]).min() <= 0.05)
    assert np.mean(passed) == pytest.approx(0.05, abs=0.025)
    raised = rng.normal(size=20) * spread
    raised[0] = 6 * spread[0]  # the head of the smallest spread
    assert max_null_p(raised, rng.normal(size=(500, 20)) * spread)[0] <= 0.01
