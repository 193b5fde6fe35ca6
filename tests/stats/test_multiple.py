"""P-values of many heads at once, against scipy and known values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headatlas.stats.multiple import holm, student_p


def test_student_p_is_that_of_a_t_test():
    samples = np.random.default_rng(0).normal(0.3, 1, size=(12, 5))
    p = student_p(samples.mean(0), stats.sem(samples), df=11)
    np.testing.assert_allclose(p, stats.ttest_1samp(samples, 0).pvalue)
    each = student_p(samples.mean(0), stats.sem(samples), df=np.full(5, 11.0))
    np.testing.assert_allclose(each, p)


def test_student_p_of_greater_means_is_one_sided():
    samples = np.random.default_rng(0).normal(0, 1, size=(12, 5))
    p = student_p(samples.mean(0), stats.sem(samples), df=11, greater=True)
    np.testing.assert_allclose(p, stats.ttest_1samp(samples, 0, alternative="greater").pvalue)
    assert student_p(np.zeros(1), np.zeros(1), df=11, greater=True) == 1


def test_means_that_cannot_be_tested_have_no_p_value():
    p = student_p(np.array([0.0, 1.0, 1.0]), np.array([0.0, 0.0, np.nan]), df=5)
    assert p[0] == 1.0
    assert np.isnan(p[1:]).all()
    assert np.isnan(student_p(np.array([1.0]), np.array([1.0]), df=0)).all()


def test_holm_steps_down():
    """The textbook case: 0.005 · 4, 0.01 · 3, 0.03 · 2, 0.04 · 1, never falling."""
    adjusted = holm(np.array([0.01, 0.04, 0.03, 0.005]))
    assert adjusted == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.6, 0.9])).tolist() == [1.0, 1.0]
    assert holm(np.array([np.nan, 0.02])).tolist()[1] == 0.02
    assert np.isnan(holm(np.array([np.nan, 0.02]))[0])


def test_holm_seldom_finds_anything_where_nothing_is():
    rng = np.random.default_rng(0)
    false = np.mean([holm(rng.uniform(size=40)).min() <= 0.05 for _ in range(2000)])
    assert false == pytest.approx(0.05, abs=0.015)
