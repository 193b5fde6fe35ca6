"""Standard errors when several examples are parts of one question."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from headatlas.stats.clustered import mean_interval, mean_se

VALUES = np.array([1.0, 4.0, 2.0, 8.0, 5.0])
NAMES = list("abcde")


def test_single_examples_give_the_usual_error_and_interval():
    assert mean_se(VALUES, NAMES) == pytest.approx(stats.sem(VALUES))
    known = stats.ttest_1samp(VALUES, 0).confidence_interval(0.95)
    assert mean_interval(VALUES, NAMES) == pytest.approx((known.low, known.high))


def test_copies_add_nothing():
    many, names = np.repeat(VALUES, 6), np.repeat(NAMES, 6).tolist()
    assert mean_se(many, names) == pytest.approx(mean_se(VALUES, NAMES))
    assert mean_interval(many, names) == pytest.approx(mean_interval(VALUES, NAMES))


def test_the_interval_holds_the_mean_also_for_unequal_groups():
    values = np.array([0.0] * 100 + [5.0] * 10)
    names = ["one"] * 100 + [f"other {i}" for i in range(10)]
    low, high = mean_interval(values, names)
    assert low < values.mean() < high


def test_the_error_is_that_of_repeated_draws():
    """Draw groups of three similar examples again and again: their means vary as the error says."""
    rng = np.random.default_rng(0)
    means, errors = [], []
    for _ in range(2000):
        values = np.repeat(rng.normal(size=12), 3) + 0.1 * rng.normal(size=36)
        means.append(values.mean())
        errors.append(mean_se(values, np.repeat(np.arange(12), 3).astype(str).tolist()))
    assert np.std(means) == pytest.approx(np.mean(errors), rel=0.06)


def test_one_question_says_nothing_about_the_error():
    assert math.isnan(mean_se(VALUES, ["a"] * 5))
    assert all(math.isnan(end) for end in mean_interval(VALUES, ["a"] * 5))
