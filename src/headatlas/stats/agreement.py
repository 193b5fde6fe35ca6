"""How far two maps agree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from headatlas.errors import MapError

Interval = tuple[float, float]


@dataclass(frozen=True)
class Agreement:
    """Agreement over the heads that both maps have, with bootstrap intervals over heads.

    `top_overlap` is the share of the `top_k` largest heads that both maps have in common;
    `top_expected` is what chance gives.
    """

    heads: int
    pearson: float
    pearson_interval: Interval
    spearman: float
    spearman_interval: Interval
    top_k: int
    top_overlap: float
    top_interval: Interval
    top_expected: float


def agreement(
    one: xr.DataArray,
    other: xr.DataArray,
    *,
    top_k: int = 20,
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
) -> Agreement:
    """Pearson and Spearman correlation and top-k overlap of two maps (layer × head).

    Intervals are percentile bootstrap intervals over heads, drawn together from both maps. A map
    that is the same for every head has no correlation: NaN.
    """
    x, y = _common_heads(one, other)
    if top_k < 1:
        raise MapError(f"top_k counts heads, so it is at least 1, not {top_k}.")
    top_k = min(top_k, len(x))
    generator = np.random.default_rng(seed)
    samples = []
    for _ in range(draws):
        pick = generator.integers(len(x), size=len(x))
        samples.append((_pearson(x[pick], y[pick]), _spearman(x[pick], y[pick])))
    pearson, spearman = np.array(samples).T
    overlap = _top_overlap(x, y, top_k)
    return Agreement(
        heads=len(x),
        pearson=_pearson(x, y),
        pearson_interval=_percentiles(pearson, level),
        spearman=_spearman(x, y),
        spearman_interval=_percentiles(spearman, level),
        top_k=top_k,
        top_overlap=overlap,
        top_interval=_overlap_interval(overlap, top_k, level),
        top_expected=top_k / len(x),
    )


def _common_heads(
    one: xr.DataArray, other: xr.DataArray
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    for values in (one, other):
        if values.dims != ("layer", "head"):
            raise MapError(
                "maps are compared as layer × head, but this one has "
                f"{', '.join(map(str, values.dims))}: aggregate or select first."
            )
    if one.shape != other.shape:
        raise MapError(f"maps of different models do not compare: {one.shape} and {other.shape}.")
    x, y = one.to_numpy().ravel(), other.to_numpy().ravel()
    both = ~(np.isnan(x) | np.isnan(y))
    if both.sum() < 3:
        raise MapError(f"two maps need at least 3 heads in common, but have {both.sum()}.")
    return x[both].astype(np.float64), y[both].astype(np.float64)


def _pearson(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


def _spearman(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    from scipy.stats import rankdata

    return _pearson(rankdata(x), rankdata(y))


def _percentiles(draws: NDArray[np.float64], level: float) -> Interval:
    defined = draws[~np.isnan(draws)]
    if not len(defined):
        return float("nan"), float("nan")
    lower, upper = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return float(lower), float(upper)


def _top_overlap(x: NDArray[np.float64], y: NDArray[np.float64], k: int) -> float:
    top_x = np.argsort(-x, kind="stable")[:k]
    top_y = np.argsort(-y, kind="stable")[:k]
    return len(np.intersect1d(top_x, top_y)) / k


def _overlap_interval(overlap: float, k: int, level: float) -> Interval:
    """Wilson interval for a share of k heads: a bootstrap would put a head into the top twice."""
    from scipy.stats import binomtest

    interval = binomtest(round(overlap * k), k).proportion_ci(level, method="wilson")
    return float(interval.low), float(interval.high)
