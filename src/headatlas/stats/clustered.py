"""Standard errors of means over examples, when several examples are parts of one question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, Any]


def mean_se(values: FloatArray, questions: Sequence[str]) -> float:
    """Standard error of the mean; examples of one question are one cluster.

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
    """Student's 95 % interval of the mean, with questions as clusters."""
    from scipy.stats import t

    se, mean = mean_se(values, questions), float(values.mean())
    if not math.isfinite(se) or not math.isfinite(mean):
        return math.nan, math.nan
    half_width = float(t.ppf(0.975, len(set(questions)) - 1)) * se
    return mean - half_width, mean + half_width
