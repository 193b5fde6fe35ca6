"""How far two sets of numbers, one per head, agree."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.errors import MapError
from headatlas.stats.arrays import FloatArray
from headatlas.stats.bootstrap import DRAWS, resampled_heads

Interval = tuple[float, float]
UNKNOWN: Interval = (nan, nan)
TOP_K = 20

FEWEST_HEADS = 10
"""Resampled correlations of fewer heads say nothing: three often fall in the same order."""


@dataclass(frozen=True)
class Agreement:
    """Agreement over the heads that both maps have, with a bootstrap interval over layers.

    `top_overlap` is the share of the `top_k` largest heads that both maps have in common, fewer
    than were asked for where ties leave open which heads those are (NaN where there are none);
    `top_expected` is what chance gives, `top_p` how often chance gives as much. Chance leaves every
    map its number of top heads in each layer: depth alone is no agreement on heads.
    """

    heads: int
    spearman: float
    spearman_interval: Interval
    top_k: int
    top_overlap: float
    top_p: float
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

    The interval is a percentile bootstrap interval over layers (over heads where there are few
    layers), drawn together from both arrays; NaN for fewer than ten heads. An array that is the
    same for every head has no correlation: NaN.
    """
    known = common_heads(one, other)
    x, y = one[known].astype(np.float64), other[known].astype(np.float64)
    if top_k < 1:
        raise MapError(f"top_k counts heads, so it is at least 1, not {top_k}.")
    top_k = _untied(x, y, min(top_k, len(x)))
    indices = resampled_heads(known, draws=draws, seed=seed)  # draw head
    resampled = _correlations(x[indices], y[indices])
    top_x, top_y = _is_top(x, top_k), _is_top(y, top_k)
    shared = int((top_x & top_y).sum())
    layers = np.nonzero(known)[0] if known.ndim > 1 else np.zeros(len(x), int)
    chance = _chance_of_overlap(top_x, top_y, layers)
    return Agreement(
        heads=len(x),
        spearman=spearman(x, y),
        spearman_interval=percentiles(resampled, level) if len(x) >= FEWEST_HEADS else UNKNOWN,
        top_k=top_k,
        top_overlap=shared / top_k if top_k else nan,
        top_p=float(chance[shared:].sum()) if top_k else nan,
        top_expected=float(chance @ np.arange(len(chance))) / top_k if top_k else nan,
    )


def common_heads(one: FloatArray, other: FloatArray) -> NDArray[np.bool_]:
    """Which heads both arrays have a number for. Raises unless there are at least three."""
    if one.shape != other.shape:
        raise ValueError(f"arrays of different shapes: {one.shape} and {other.shape}")
    both = np.isfinite(one) & np.isfinite(other)
    if both.sum() < 3:
        raise MapError(f"two maps need at least 3 heads in common, but have {both.sum()}.")
    return np.asarray(both)


def spearman(x: FloatArray, y: FloatArray) -> float:
    """Rank correlation; NaN if either is the same everywhere."""
    from scipy.stats import rankdata

    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])


def _correlations(x: FloatArray, y: FloatArray) -> FloatArray:
    """Rank correlation of every row; NaN where either is the same everywhere."""
    from scipy.stats import rankdata

    ranks = [rankdata(values, axis=-1) for values in (x, y)]
    a, b = (ranked - ranked.mean(-1, keepdims=True) for ranked in ranks)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((a * b).sum(-1) / np.sqrt((a**2).sum(-1) * (b**2).sum(-1)))


def percentiles(sampled: FloatArray, level: float) -> Interval:
    """The percentile interval of resampled statistics; undefined ones (NaN) are left out."""
    defined = sampled[~np.isnan(sampled)]
    if not len(defined):
        return float("nan"), float("nan")
    lower, upper = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(lower), float(upper)


def _untied(x: FloatArray, y: FloatArray, k: int) -> int:
    """The largest number up to k of top heads that no tie leaves open, in both arrays.

    >>> x, y = np.array([3.0, 2.0, 0.0, 0.0]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> [_untied(x, y, k) for k in (1, 2, 3, 4)]
    [1, 2, 2, 4]
    """
    ranked = [np.sort(values)[::-1] for values in (x, y)]
    while 0 < k < len(x):
        tied = [values for values in ranked if values[k - 1] == values[k]]
        if not tied:
            break
        k = min(int((values > values[k]).sum()) for values in tied)
    return k


def _is_top(values: FloatArray, k: int) -> NDArray[np.bool_]:
    """Which heads are among the k largest."""
    top = np.zeros(len(values), bool)
    top[np.argsort(-values, kind="stable")[:k]] = True
    return top


def _chance_of_overlap(
    one: NDArray[np.bool_], other: NDArray[np.bool_], layers: NDArray[np.integer[Any]]
) -> FloatArray:
    """The probability of every number of heads in common; sets keep their numbers per layer."""
    from scipy.stats import hypergeom

    chance = np.ones(1)
    for layer in np.unique(layers):
        own = layers == layer
        first, second = int(one[own].sum()), int(other[own].sum())
        if first and second:
            counts = np.arange(min(first, second) + 1)
            chance = np.convolve(chance, hypergeom.pmf(counts, own.sum(), first, second))
    whole = np.zeros(int(one.sum()) + 1)
    whole[: len(chance)] = chance[: len(whole)]
    return whole
