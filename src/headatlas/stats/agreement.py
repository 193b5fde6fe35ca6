"""How far two sets of numbers, one per head, agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headatlas.errors import MapError
from headatlas.stats.arrays import FloatArray
from headatlas.stats.bootstrap import DRAWS, resamples

Interval = tuple[float, float]
TOP_K = 20


@dataclass(frozen=True)
class Agreement:
    """Agreement over the heads that both maps have, with bootstrap intervals over heads.

    `top_overlap` is the share of the `top_k` largest heads that both maps have in common;
    `top_expected` is what chance gives.
    """

    heads: int
    spearman: float
    spearman_interval: Interval
    top_k: int
    top_overlap: float
    top_interval: Interval
    top_expected: float


def agreement_of(
    one: FloatArray,
    other: FloatArray,
    *,
    top_k: int = TOP_K,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> Agreement:
    """Spearman correlation and top-k overlap of two arrays of the same shape.

    Intervals are percentile bootstrap intervals over heads, drawn together from both arrays. An
    array that is the same for every head has no correlation: NaN.
    """
    x, y = _common_heads(one, other)
    if top_k < 1:
        raise MapError(f"top_k counts heads, so it is at least 1, not {top_k}.")
    top_k = min(top_k, len(x))
    resampled = resamples((x, y), spearman, draws=draws, seed=seed)
    overlap = _top_overlap(x, y, top_k)
    return Agreement(
        heads=len(x),
        spearman=spearman(x, y),
        spearman_interval=percentiles(resampled, level),
        top_k=top_k,
        top_overlap=overlap,
        top_interval=_overlap_interval(overlap, top_k, level),
        top_expected=top_k / len(x),
    )


def _common_heads(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    if one.shape != other.shape:
        raise ValueError(f"arrays of different shapes: {one.shape} and {other.shape}")
    both = np.isfinite(one) & np.isfinite(other)
    if both.sum() < 3:
        raise MapError(f"two maps need at least 3 heads in common, but have {both.sum()}.")
    return one[both].astype(np.float64), other[both].astype(np.float64)


def spearman(x: FloatArray, y: FloatArray) -> float:
    """Rank correlation; NaN if either is the same everywhere."""
    from scipy.stats import rankdata

    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])


def percentiles(sampled: FloatArray, level: float) -> Interval:
    """The percentile interval of resampled statistics; undefined ones (NaN) are left out."""
    defined = sampled[~np.isnan(sampled)]
    if not len(defined):
        return float("nan"), float("nan")
    lower, upper = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(lower), float(upper)


def _top_overlap(x: FloatArray, y: FloatArray, k: int) -> float:
    top_x = np.argsort(-x, kind="stable")[:k]
    top_y = np.argsort(-y, kind="stable")[:k]
    return len(np.intersect1d(top_x, top_y)) / k


def _overlap_interval(overlap: float, k: int, level: float) -> Interval:
    """Wilson interval for a share of k heads: a bootstrap would put a head into the top twice."""
    from scipy.stats import binomtest

    interval = binomtest(round(overlap * k), k).proportion_ci(level, method="wilson")
    return float(interval.low), float(interval.high)
