"""Two groups of numbers: Welch's t-test of their means."""

from __future__ import annotations

import warnings
from math import nan
from typing import NamedTuple

import numpy as np

from headatlas.stats.arrays import FloatArray
from headatlas.stats.clustered import LEVEL
from headatlas.stats.intervals import Change


class Welch(NamedTuple):
    """The difference of two means with its interval, and the two-sided test that it is 0."""

    difference: Change
    t: float
    df: float
    p: float


def welch(one: FloatArray, other: FloatArray, level: float = LEVEL) -> Welch:
    """The mean of `one` minus that of `other`.

    NaN where it cannot be known: the test needs two values on either side that are not all equal,
    the difference one.

    >>> result = welch(np.array([1.0, 2.0, 3.0]), np.array([0.0, 1.0, 1.0, 2.0]))
    >>> round(result.t, 3), round(result.df, 3), round(result.p, 3)
    (1.414, 3.857, 0.233)
    """
    from scipy.stats import ttest_ind

    if not len(one) or not len(other):
        return Welch(Change(nan, nan, nan), nan, nan, nan)
    mean = float(one.mean() - other.mean())
    if min(len(one), len(other)) < 2 or not (np.ptp(one) > 0 or np.ptp(other) > 0):
        return Welch(Change(mean, nan, nan), nan, nan, nan)
    with warnings.catch_warnings():  # one side may well be equal everywhere: its variance is 0
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
        result = ttest_ind(one, other, equal_var=False)
        interval = result.confidence_interval(level)
    difference = Change(mean, float(interval.low), float(interval.high))
    return Welch(difference, float(result.statistic), float(result.df), float(result.pvalue))
