"""Chosen heads beside random ones: differences and their intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from checks.made_answers import (
    DRAWN,
    compared_of,
    moved_by,
)
from headatlas.checks.compared import Compared, pooled_difference
from headatlas.checks.controls import Controls
from headatlas.checks.functions.masking import Masked, pooled_over_shuffled


def test_a_difference_that_is_there_is_found_and_none_is_not():
    strong = compared_of(-0.5, DRAWN)
    assert strong.change().mean == pytest.approx(-0.5, abs=0.02)
    assert np.mean(strong.draw_means()) == pytest.approx(-0.1, abs=0.02)
    assert strong.difference().mean == pytest.approx(-0.4, abs=0.02)
    assert strong.difference().below is True
    assert compared_of(-0.12, DRAWN).difference().below is None
    assert compared_of(0.2, DRAWN).difference().below is False


def test_heads_that_harm_as_one_of_the_draws_does_are_no_finding():
    """A set of heads differs from the mean of random sets, as each of these does."""
    wild = (-1.0, -0.2, 0.4, 0.9, -0.5, 0.3, -0.9, 0.6)
    compared = compared_of(-0.9, wild)
    assert compared.change().below is True
    assert compared.difference().below is None


def test_the_interval_of_a_difference_is_welchs_of_clusters_and_draws():
    compared = compared_of(-0.5, DRAWN)
    values = compared.changes() - compared.control_changes().mean(0)
    draws = len(DRAWN)
    parts = [
        (stats.sem(values) ** 2, len(values) - 1),
        (np.var(compared.draw_means(), ddof=1) * (1 + 1 / draws), draws - 1),
    ]
    variance = sum(part for part, _ in parts)
    df = variance**2 / sum(part**2 / count for part, count in parts)
    for level in (0.95, 0.99):
        half_width = stats.t.ppf((1 + level) / 2, df) * math.sqrt(variance)
        found = compared.difference("logprob", level)
        assert (found.low, found.high) == pytest.approx(
            (values.mean() - half_width, values.mean() + half_width)
        )


def test_pooling_adds_up_the_draws_of_functions_and_shared_heads_widen_it():
    pair = [compared_of(-0.5, DRAWN, seed=0), compared_of(-0.5, DRAWN, seed=1)]
    alone = pooled_difference(pair)
    shared = pooled_difference(pair, correlation=np.ones((2, 2)))
    assert alone.mean == shared.mean == pytest.approx(-0.4, abs=0.02)
    assert shared.high - shared.low > 1.15 * (alone.high - alone.low)
    single = Compared(pair[0].clusters, pair[0].before, pair[0].after, pair[0].controls[:1])
    assert math.isnan(single.difference().low)  # one draw says nothing about others


def test_one_function_that_does_everything_is_no_finding_for_all():
    steady = (-0.01, 0.01, -0.02, 0.02)
    some = [compared_of(own, steady, seed=i) for i, own in enumerate((-6.0, 0.1, 0.0, -0.1))]
    assert some[0].difference().below is True
    assert pooled_difference(some).mean < -1
    assert pooled_difference(some).below is None


def test_pooled_over_shuffled_counts_functions_as_draws():
    def masked(own, other, seed):
        compared = compared_of(own, DRAWN, seed=seed)
        of_other = moved_by(compared.before, other, np.random.default_rng(seed))
        return Masked("x", Controls(((0, 0),), (), ()), 1.0, compared, of_other)

    alike = [masked(-0.5, -0.2, seed) for seed in range(4)]
    assert pooled_over_shuffled(alike).below is True
    mixed = [masked(own, -0.2, seed) for seed, own in enumerate((-2.0, 0.3, 0.2, 0.1))]
    assert pooled_over_shuffled(mixed).mean < -0.1
    assert pooled_over_shuffled(mixed).below is None
    assert pooled_over_shuffled([]) is None
