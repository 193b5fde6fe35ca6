"""Standard errors when several examples ask parts of one question."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headatlas.stats.clustered import Change, mean_change, mean_se, mean_interval

VALUES = np.array([1.0, 4.0, 2.0, 8.0, 5.0])
NAMES = list("abcde")


def test_single_examples_give_the_usual_error():
    assert mean_se(VALUES, NAMES) == pytest.approx(VALUES.std(ddof=1) / 5**0.5)


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
    """Draw groups of three equal parts again and again: the means spread as the error says."""
    generator = np.random.default_rng(0)
    means, errors = [], []
    for _ in range(2000):
        values = np.repeat(generator.normal(size=12), 3) + 0.1 * generator.normal(size=36)
        means.append(values.mean())
        errors.append(mean_se(values, np.repeat(np.arange(12), 3).astype(str).tolist()))
    assert np.std(means) == pytest.approx(np.mean(errors), rel=0.06)


def test_one_question_says_nothing_about_spread():
    assert math.isnan(mean_se(VALUES, ["a"] * 5))
    assert all(math.isnan(end) for end in mean_interval(VALUES, ["a"] * 5))


def test_a_second_error_adds_up_and_no_spread_is_no_interval():
    values = np.random.default_rng(0).normal(1, 0.1, 50)
    names = [str(i) for i in range(50)]
    alone, more = mean_change(values, names), mean_change(values, names, spread=0.2, freedom=3)
    assert mean_interval(values, names) == pytest.approx((alone.low, alone.high))
    assert more.low < alone.low < alone.high < more.high
    assert (alone.above, more.above) == (True, True)
    assert mean_change(np.ones(4), list("abcd")) == Change(1, 1, 1)
    assert mean_change(np.ones(2), ["a", "a"]).below is None  # one question: nothing is sure


def test_equal_shares_of_few_questions_are_not_sure():
    few, many = (mean_change(np.ones(n), [str(i) for i in range(n)], bounded=True) for n in (6, 90))
    assert few.low < 0.65
    assert 0.95 < many.low < 1
