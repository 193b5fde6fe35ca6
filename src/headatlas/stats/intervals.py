"""Intervals of shares and of mean changes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headatlas.stats.clustered import FloatArray, mean_se

Z = 1.959964
"""The 97.5 % quantile of the normal distribution."""


def share_interval(share: float, count: float) -> tuple[float, float]:
    """The 95 % Wilson interval of a share of `count` cases.

    >>> low, high = share_interval(0.0, 36)
    >>> low, round(high, 3)
    (0.0, 0.096)
    """
    low, high = wilson(share, count)
    return max(0.0, low), min(1.0, high)


def wilson(share: Any, count: Any) -> tuple[Any, Any]:
    """The bounds of Wilson's 95 % interval, also of arrays; rounding may leave [0, 1]."""
    z2 = Z**2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half_width = (z2 * (share * (1 - share) / count + z2 / (4 * count**2))) ** 0.5 / (
        1 + z2 / count
    )
    return middle - half_width, middle + half_width


def clustered_share_interval(right: FloatArray, questions: Sequence[str]) -> tuple[float, float]:
    """The 95 % Wilson interval of a share whose cases come in clusters, the questions.

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
        return share_interval(share, total)
    error = mean_se(right, questions)
    if not (0 < share < 1 and error > 0):
        return share_interval(share, clusters)
    penalty = (Z / float(t.ppf(0.975, max(clusters - 1, 1)))) ** 2
    return share_interval(share, min(penalty * share * (1 - share) / error**2, total))


@dataclass(frozen=True)
class Change:
    """A mean change and its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def below(self) -> bool | None:
        """Whether it lies below 0; `None` if the interval contains 0."""
        if self.high < 0:
            return True
        return False if self.low > 0 else None

    @property
    def above(self) -> bool | None:
        """Whether it lies above 0; `None` if the interval contains 0."""
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
    questions: Sequence[str],
    extra_se: float = 0.0,
    extra_df: int = 1,
    *,
    bounded: bool = False,
) -> Change:
    """Mean over examples with its interval; questions are clusters.

    `extra_se` is a second standard error with `extra_df` degrees of freedom, such as that of the
    random draws the values are compared with. The two variances add up, and their degrees of
    freedom are combined by Welch's formula. If all values are equal, their spread says nothing
    about the uncertainty; for `bounded` values (shares of correct answers) the interval then covers
    the share of different values that this number of questions may have missed.
    """
    from scipy.stats import t

    parts = [(mean_se(values, questions), len(set(questions)) - 1), (extra_se, extra_df)]
    variance = sum(se**2 for se, _ in parts)
    mean = float(values.mean())
    if not math.isfinite(variance) or not math.isfinite(mean):
        return Change(mean, math.nan, math.nan)
    if variance < 1e-24:
        missed = 1 - 0.05 ** (1 / len(set(questions))) if bounded else 0.0
        return Change(mean, mean - missed, mean + missed)
    df = variance**2 / sum(se**4 / count for se, count in parts)
    half_width = float(t.ppf(0.975, df)) * math.sqrt(variance)
    return Change(mean, mean - half_width, mean + half_width)
