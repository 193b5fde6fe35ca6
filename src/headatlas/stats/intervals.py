"""Intervals of shares and of mean changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from headatlas.stats.arrays import FloatArray
from headatlas.stats.clustered import LEVEL, mean_se

Variance = tuple[float, float]
"""A variance and its degrees of freedom."""

NO_VARIANCE = 1e-24
"""A variance below this is rounding."""


def share_interval(share: float, count: float, level: float = LEVEL) -> tuple[float, float]:
    """The Wilson interval of a share of `count` cases.

    >>> low, high = share_interval(0.0, 36)
    >>> low, round(high, 3)
    (0.0, 0.096)
    """
    low, high = wilson(share, count, level)
    return max(0.0, low), min(1.0, high)


def wilson(share: Any, count: Any, level: float = LEVEL) -> tuple[Any, Any]:
    """The bounds of Wilson's interval, also of arrays; rounding may leave [0, 1]."""
    z2 = normal_quantile(level) ** 2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half_width = (z2 * (share * (1 - share) / count + z2 / (4 * count**2))) ** 0.5 / (
        1 + z2 / count
    )
    return middle - half_width, middle + half_width


def clustered_share_interval(
    right: FloatArray, questions: Sequence[str], level: float = LEVEL
) -> tuple[float, float]:
    """The Wilson interval of a share whose cases come in clusters, the questions.

    The number of cases is the effective one, share · (1 − share) / SE², made smaller for a standard
    error that rests on few clusters (Korn and Graubard 1998): times (z / t)², with t of Kish's
    number of clusters, (Σ size)² / Σ size², minus one degrees of freedom. It is the plain number
    where every question has one case.
    """
    from scipy.stats import t

    _, sizes = np.unique(np.asarray(questions), return_counts=True)
    share, total = float(right.mean()), float(sizes.sum())
    clusters = total**2 / float(np.sum(sizes**2))
    if clusters == total:
        return share_interval(share, total, level)
    error = mean_se(right, questions)
    if not (0 < share < 1 and error > 0):
        return share_interval(share, clusters, level)
    quantile = float(t.ppf((1 + level) / 2, max(clusters - 1, 1)))
    penalty = (normal_quantile(level) / quantile) ** 2
    return share_interval(share, min(penalty * share * (1 - share) / error**2, total), level)


@dataclass(frozen=True)
class Change:
    """A mean change and its interval; an interval that cannot be known is NaN."""

    mean: float
    low: float
    high: float

    @property
    def below(self) -> bool | None:
        """Whether it lies below 0; `None` if the interval contains 0 or is not known."""
        if self.high < 0:
            return True
        return False if self.low > 0 else None

    @property
    def above(self) -> bool | None:
        """Whether it lies above 0; `None` if the interval contains 0 or is not known."""
        return None if self.below is None else not self.below


def welch_df(parts: Sequence[tuple[Any, Any]]) -> Any:
    """Degrees of freedom of a sum of variances, each with its own (Welch and Satterthwaite).

    Works on numbers and arrays; a variance of 0 does not count, and neither do its degrees.
    """
    total = sum(variance for variance, _ in parts)
    spread = sum(variance**2 / np.maximum(df, 1) for variance, df in parts)
    return np.where(spread > 0, total**2 / np.where(spread > 0, spread, 1.0), 1.0)


def mean_change(
    values: FloatArray,
    clusters: Sequence[str],
    extra_se: float = 0.0,
    extra_df: float = 1.0,
    *,
    bounded: bool = False,
    level: float = LEVEL,
) -> Change:
    """Mean over examples with its interval; `clusters` are their questions, or prefixes.

    `extra_se` is a second standard error with `extra_df` degrees of freedom, such as that of the
    random draws the values are compared with. The two variances add up, and their degrees of
    freedom are combined by Welch's formula. If all values are equal, their spread says nothing
    about the uncertainty, and there is no interval (NaN); for `bounded` values (shares of correct
    answers) it then covers the share of different values that this number of clusters may have
    missed: the two-sided exact bound, 1 − ((1 − level) / 2)^(1 / clusters).
    """
    mean, count = float(values.mean()), len(set(clusters))
    parts = [(mean_se(values, clusters) ** 2, count - 1), (extra_se**2, extra_df)]
    if bounded and sum(variance for variance, _ in parts) < NO_VARIANCE:
        missed = 1 - ((1 - level) / 2) ** (1 / count)
        return Change(mean, mean - missed, mean + missed)
    return change_of(mean, parts, level)


def change_of(mean: float, variances: Sequence[Variance], level: float = LEVEL) -> Change:
    """Student's interval of a mean whose variances add up, each with its degrees of freedom.

    Degrees of freedom are combined by the formula of Welch and Satterthwaite. The interval is
    unknown (NaN) if a variance is, or if there is none: values that are all equal say nothing about
    their spread.
    """
    from scipy.stats import t

    total = sum(variance for variance, _ in variances)
    if not (math.isfinite(total) and math.isfinite(mean)) or total < NO_VARIANCE:
        return Change(mean, math.nan, math.nan)
    half_width = float(t.ppf((1 + level) / 2, float(welch_df(variances)))) * math.sqrt(total)
    return Change(mean, mean - half_width, mean + half_width)


def p_of(mean: float, variances: Sequence[Variance]) -> float:
    """Student's two-sided p-value that a mean is 0, from what `change_of` makes an interval of.

    >>> change = change_of(2.0, [(1.0, 10.0)], level=0.9)
    >>> p_of(2.0, [(1.0, 10.0)]) < 0.1, change.low > 0
    (True, True)
    """
    from scipy.stats import t

    total = sum(variance for variance, _ in variances)
    if not (math.isfinite(total) and math.isfinite(mean)) or total < NO_VARIANCE:
        return math.nan
    return 2 * float(t.sf(abs(mean) / math.sqrt(total), float(welch_df(variances))))


def normal_quantile(level: float) -> float:
    """How many standard errors a normal interval reaches to each side."""
    return NormalDist().inv_cdf((1 + level) / 2)
