"""Chosen heads against others of their layers: depth is no evidence, few heads prove little."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from headatlas.stats.within_layers import above_own_layers

LAYERS, HEADS = 12, 8


def chosen_heads(*heads):
    chosen = np.zeros((LAYERS, HEADS), dtype=bool)
    for head in heads:
        chosen[head] = True
    return chosen


def test_the_auroc_is_that_of_mann_and_whitney_with_ties():
    values = np.random.default_rng(0).integers(0, 5, (LAYERS, HEADS)).astype(float)
    chosen = chosen_heads((0, 1), (3, 4), (9, 0), (9, 7))
    statistic = mannwhitneyu(values[chosen], values[~chosen]).statistic
    assert above_own_layers(values, chosen).auroc == pytest.approx(statistic / (4 * 92))


def test_where_layers_do_not_differ_half_of_all_pairs_are_expected():
    values = np.random.default_rng(0).normal(size=(LAYERS, HEADS))
    every = [above_own_layers(values, chosen_heads((i, 0), (i, 1))).expected for i in range(LAYERS)]
    assert np.mean(every) == pytest.approx(0.5, abs=0.03)


def test_a_high_layer_explains_its_heads():
    values = np.random.default_rng(0).normal(size=(LAYERS, HEADS))
    values[5] += 10
    test = above_own_layers(values, chosen_heads((5, 0), (5, 1), (5, 2)))
    assert test.auroc > 0.95
    assert test.expected > 0.95
    assert test.p > 0.05


def test_random_heads_pass_no_more_often_than_stated():
    passed = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(LAYERS, HEADS)) + 3 * rng.normal(size=(LAYERS, 1))
        chosen = chosen_heads(*map(tuple, rng.integers(0, HEADS, (5, 2))))
        passed += above_own_layers(values, chosen, draws=500).p <= 0.05
    assert passed <= 20


def test_heads_above_their_layers_are_found():
    values = np.random.default_rng(0).normal(size=(LAYERS, HEADS))
    chosen = chosen_heads((1, 1), (4, 2), (8, 3))
    values[chosen] += 5
    assert above_own_layers(values, chosen).p < 0.01


def test_few_heads_cannot_have_a_small_p():
    values = np.arange(8.0).reshape(2, 4)
    test = above_own_layers(values, np.eye(2, 4, 3, dtype=bool))  # the highest of the first layer
    assert test.least_p == test.p == pytest.approx(0.25, abs=0.01)


def test_heads_that_do_not_exist_are_not_drawn():
    values = np.random.default_rng(0).normal(size=(LAYERS, HEADS))
    values[:, 6:] = np.nan
    chosen = chosen_heads((0, 0), (1, 7))
    test = above_own_layers(values, chosen)
    assert test.least_p == pytest.approx(1 / 6)
    assert 0 <= test.auroc <= 1


def test_nothing_or_everything_is_not_tested():
    values = np.zeros((LAYERS, HEADS))
    for chosen in (chosen_heads(), np.ones((LAYERS, HEADS), dtype=bool)):
        assert math.isnan(above_own_layers(values, chosen).p)
