"""How sure a mean over examples is, when several examples ask parts of one question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, Any]


def mean_se(values: FloatArray, questions: Sequence[str]) -> float:
    """Standard error of the mean; examples of one question count as one draw.

    SE² = G / (G − 1) · Σ_g (Σ_{i ∈ g} (x_i − x̄))² / n² over G questions and n examples, which is
    the usual s² / n where every question has one example. NaN for fewer than two questions.

    >>> mean_se(np.array([1.0, 2.0, 3.0]), ["a", "b", "c"])  # 1 / √3
    0.5773502691896258
    """
    _, group = np.unique(np.asarray(questions), return_inverse=True)
    sums = np.bincount(group, weights=values - values.mean())
    if len(sums) < 2:
        return math.nan
    return float(np.sqrt(len(sums) / (len(sums) - 1) * np.sum(sums**2)) / len(values))


def mean_interval(values: FloatArray, questions: Sequence[str]) -> tuple[float, float]:
    """Student's 95 % interval of the mean over examples of so many questions."""
    from scipy.stats import t

    error, mean = mean_se(values, questions), float(values.mean())
    if not math.isfinite(error) or not math.isfinite(mean):
        return math.nan, math.nan
    reach = float(t.ppf(0.975, len(set(questions)) - 1)) * error
    return mean - reach, mean + reach


def share_interval(share: float, count: float) -> tuple[float, float]:
    """The 95 % Wilson interval of a share of so many cases.

    >>> low, high = share_interval(0.0, 36)
    >>> low, round(high, 3)
    (0.0, 0.096)
    """
    z2 = 1.959964**2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    reach = (z2 * (share * (1 - share) / count + z2 / (4 * count**2))) ** 0.5 / (1 + z2 / count)
    return max(0.0, middle - reach), min(1.0, middle + reach)


@dataclass(frozen=True)
class Change:
    """A mean change, and its 95 % interval."""

    mean: float
    low: float
    high: float

    @property
    def below(self) -> bool | None:
        """Whether it lies below 0; `None` if it cannot be told."""
        if self.high < 0:
            return True
        return False if self.low > 0 else None

    @property
    def above(self) -> bool | None:
        """Whether it lies above 0; `None` if it cannot be told."""
        return None if self.below is None else not self.below


def mean_change(
    values: FloatArray,
    questions: Sequence[str],
    spread: float = 0.0,
    freedom: int = 1,
    *,
    bounded: bool = False,
) -> Change:
    """A mean over examples of questions, which may have a second standard error (`spread`, of
    `freedom` degrees of freedom): that of random draws it is compared with.

    The two variances add up; their degrees of freedom together are Welch's. Where all values are
    the same, there is no spread to tell how sure the mean is; if they are `bounded` (shares of
    right answers), it is the share of other values that so many questions may have missed.
    """
    from scipy.stats import t

    parts = [(mean_se(values, questions), len(set(questions)) - 1), (spread, freedom)]
    variance = sum(error**2 for error, _ in parts)
    mean = float(values.mean())
    if not math.isfinite(variance) or not math.isfinite(mean):
        return Change(mean, math.nan, math.nan)
    if variance < 1e-24:
        missed = 1 - 0.05 ** (1 / len(set(questions))) if bounded else 0.0
        return Change(mean, mean - missed, mean + missed)
    together = variance**2 / sum(error**4 / count for error, count in parts)
    reach = float(t.ppf(0.975, together)) * math.sqrt(variance)
    return Change(mean, mean - reach, mean + reach)
