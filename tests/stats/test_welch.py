"""Welch's t-test of two groups of numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headatlas.stats.welch import welch

RNG = np.random.default_rng(0)


def test_numbers_are_those_of_the_textbook():
    """Unequal variances and sizes, by the formulas of Welch and of Satterthwaite."""
    one, other = RNG.normal(1, 2, 12), RNG.normal(0, 0.5, 40)
    parts = [values.var(ddof=1) / len(values) for values in (one, other)]
    found = welch(one, other)
    assert found.difference.mean == pytest.approx(one.mean() - other.mean())
    assert found.t == pytest.approx((one.mean() - other.mean()) / math.sqrt(sum(parts)))
    assert found.df == pytest.approx(sum(parts) ** 2 / (parts[0] ** 2 / 11 + parts[1] ** 2 / 39))
    assert found.difference.low < found.difference.mean < found.difference.high


def test_the_interval_excludes_0_where_p_is_small_and_holds_the_truth():
    held = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        found = welch(rng.normal(0.5, 1, 8), rng.normal(0, 0.3, 60))
        assert (found.p < 0.05) == (found.difference.below is not None)
        held += found.difference.low < 0.5 < found.difference.high
    assert 0.92 < held / 300 < 0.98


def test_what_cannot_be_tested_is_nan():
    many = np.array([0.1, 0.2, 0.4])
    for one, other in ((np.ones(1), many), (many, np.ones(1)), (np.ones(3), np.zeros(3))):
        found = welch(one, other)
        assert found.difference.mean == pytest.approx(one.mean() - other.mean())
        numbers = (found.t, found.df, found.p, found.difference.low, found.difference.high)
        assert all(map(math.isnan, numbers))
    assert math.isnan(welch(np.array([]), many).difference.mean)


def test_equal_numbers_on_one_side_count_with_variance_0():
    others = RNG.random(50)
    found = welch(np.ones(3), others)
    assert found.df == pytest.approx(49)
    assert found.t == pytest.approx((1 - others.mean()) / (others.std(ddof=1) / math.sqrt(50)))
