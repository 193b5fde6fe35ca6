"""Standard errors of means over examples, when several examples are parts of one question."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headatlas.stats.arrays import FloatArray

LEVEL = 0.95
"""How sure an interval is, if nothing else is wanted."""


def mean_se(values: FloatArray, clusters: Sequence[str]) -> float:
    """Standard error of the mean; examples of one question are one cluster.

    SE² = G / (G − 1) · Σ_g (Σ_{i ∈ g} (x_i − x̄))² / n² over G clusters and n examples, which is
    the usual s² / n where every cluster has one example. NaN for fewer than two clusters.

    >>> mean_se(np.array([1.0, 2.0, 3.0]), ["a", "b", "c"])  # 1 / √3
    0.5773502691896258
    """
    return float(mean_ses(values, clusters))


def mean_ses(values: FloatArray, clusters: Sequence[str]) -> FloatArray:
    """The same for many means at once: values are example × …, errors have the other axes."""
    _, group = np.unique(np.asarray(clusters), return_inverse=True)
    groups = int(group.max()) + 1
    if groups < 2:
        return np.full(values.shape[1:], math.nan)
    sums = np.zeros((groups, *values.shape[1:]))
    np.add.at(sums, group, values - values.mean(0))
    return np.asarray(np.sqrt(groups / (groups - 1) * np.sum(sums**2, 0)) / len(values))


def mean_interval(
    values: FloatArray, clusters: Sequence[str], level: float = LEVEL
) -> tuple[float, float]:
    """Student's interval of the mean, with questions (or what else groups examples) as clusters."""
    from scipy.stats import t

    se, mean = mean_se(values, clusters), float(values.mean())
    if not math.isfinite(se) or not math.isfinite(mean):
        return math.nan, math.nan
    half_width = float(t.ppf((1 + level) / 2, len(set(clusters)) - 1)) * se
    return mean - half_width, mean + half_width
