"""Intervals of shares and of mean changes, against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from headatlas.stats.clustered import mean_interval
from headatlas.stats.intervals import (
    Change,
    clustered_share_interval,
    mean_change,
    share_interval,
    welch_df,
)


@pytest.mark.parametrize(("right", "count"), [(0, 36), (1, 7), (10, 15), (15, 15), (300, 1000)])
def test_the_interval_of_a_share_is_wilsons(right, count):
    known = stats.binomtest(right, count).proportion_ci(0.95, method="wilson")
    assert share_interval(right / count, count) == pytest.approx((known.low, known.high), abs=1e-6)


def test_one_case_per_question_gives_the_plain_wilson_interval():
    right = np.array([1.0, 0.0, 0.0, 1.0, 1.0])
    assert clustered_share_interval(right, list("abcde")) == share_interval(0.6, 5)


def test_copies_of_questions_do_not_make_the_interval_narrower():
    right, names = np.array([1.0, 0.0, 1.0] * 5), [str(i) for i in range(15)]
    alone = clustered_share_interval(right, names)
    copied = clustered_share_interval(np.repeat(right, 4), np.repeat(names, 4).tolist())
    assert alone[0] - 0.04 < copied[0] <= alone[0]
    assert alone[1] <= copied[1] < alone[1] + 0.04
    all_right = stats.binomtest(15, 15).proportion_ci(0.95, method="wilson")
    low, _ = clustered_share_interval(np.ones(60), np.repeat(names, 4).tolist())
    assert low == pytest.approx(all_right.low)


@pytest.mark.parametrize("sizes", [[4] * 16, [1] * 20 + [2] * 20 + [3] * 10, [40, 40] + [1] * 20])
@pytest.mark.parametrize("alike", [0.0, 0.3])
def test_shares_of_clustered_cases_are_covered(sizes, alike):
    """Also where two questions have most of the cases; `alike` of the questions have one answer."""
    rng = np.random.default_rng(0)
    question = np.repeat(np.arange(len(sizes)), sizes)
    names = [str(number) for number in question]
    covered = 0
    for _ in range(400):
        of_question = (rng.random(len(sizes)) < 0.5)[question]
        same = (rng.random(len(sizes)) < alike)[question]
        right = np.where(same, of_question, rng.random(len(question)) < 0.5).astype(float)
        low, high = clustered_share_interval(right, names)
        covered += low <= 0.5 <= high
    assert covered / 400 > 0.92


def test_a_change_has_the_interval_of_its_mean():
    values = np.random.default_rng(0).normal(1, 0.1, 50)
    names = [str(i) for i in range(50)]
    alone = mean_change(values, names)
    assert (alone.low, alone.high) == pytest.approx(mean_interval(values, names))
    assert alone.mean == pytest.approx(values.mean())


def test_a_second_error_is_combined_as_in_welchs_test():
    rng = np.random.default_rng(0)
    values, others = rng.normal(1, 0.5, 30), rng.normal(0, 2, 6)
    known = stats.ttest_ind(values, others, equal_var=False).confidence_interval(0.95)
    names = [str(i) for i in range(30)]
    change = mean_change(values - others.mean(), names, stats.sem(others), len(others) - 1)
    assert (change.low, change.high) == pytest.approx((known.low, known.high))


def test_degrees_of_freedom_are_welchs():
    rng = np.random.default_rng(0)
    one, other = rng.normal(0, 1, 12), rng.normal(0, 3, 7)
    known = stats.ttest_ind(one, other, equal_var=False).df
    parts = [(stats.sem(one) ** 2, 11), (stats.sem(other) ** 2, 6)]
    assert float(welch_df(parts)) == pytest.approx(known)
    assert float(welch_df([(2.0, 9), (0.0, 3)])) == pytest.approx(9)
    assert welch_df([(np.array([2.0, 0.0]), 9), (np.array([0.0, 0.0]), 3)]).tolist() == [9.0, 1.0]


def test_where_a_change_lies():
    assert (Change(-1, -2, -0.1).below, Change(-1, -2, -0.1).above) == (True, False)
    assert (Change(1, 0.1, 2).below, Change(1, 0.1, 2).above) == (False, True)
    assert (Change(1, -0.1, 2).below, Change(1, -0.1, 2).above) == (None, None)


def test_equal_values_have_no_interval_and_one_question_decides_nothing():
    same = mean_change(np.ones(4), list("abcd"))
    assert same.mean == 1
    assert math.isnan(same.low)
    assert same.above is None
    drawn = mean_change(np.ones(4), list("abcd"), 0.1, 15)
    assert drawn.high - 1 == pytest.approx(0.1 * stats.t.ppf(0.975, 15))
    single = mean_change(np.ones(2), ["a", "a"])
    assert math.isnan(single.low)
    assert single.below is None


def test_equal_shares_of_few_questions_have_the_exact_two_sided_bound():
    """Clopper and Pearson's: of 6 questions, all right, up to 46 % of all may be wrong."""
    for count in (6, 90):
        known = stats.binomtest(count, count).proportion_ci(0.95, method="exact")
        found = mean_change(np.ones(count), [str(i) for i in range(count)], bounded=True)
        assert found.low == pytest.approx(known.low)


@pytest.mark.parametrize("level", [0.9, 0.975, 0.99])
def test_intervals_have_the_level_that_is_wanted(level):
    values, names = np.array([1.0, 4.0, 2.0, 8.0, 5.0]), list("abcde")
    known = stats.ttest_1samp(values, 0).confidence_interval(level)
    assert mean_interval(values, names, level) == pytest.approx((known.low, known.high))
    change = mean_change(values, names, level=level)
    assert (change.low, change.high) == pytest.approx((known.low, known.high))
    share = stats.binomtest(3, 10).proportion_ci(level, method="wilson")
    assert share_interval(0.3, 10, level) == pytest.approx((share.low, share.high))
    right = np.array([1.0] * 3 + [0.0] * 7)
    alone = clustered_share_interval(right, [str(i) for i in range(10)], level)
    assert alone == pytest.approx((share.low, share.high))
    bound = stats.binomtest(5, 5).proportion_ci(level, method="exact").low
    assert mean_change(np.ones(5), names, bounded=True, level=level).low == pytest.approx(bound)
