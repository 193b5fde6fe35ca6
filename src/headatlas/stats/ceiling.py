"""How far two noisy sets of numbers could agree at most, and would agree without their noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headatlas.stats.agreement import percentiles, spearman
from headatlas.stats.arrays import FloatArray
from headatlas.stats.bootstrap import DRAWS, resampled_heads
from headatlas.stats.reliability import spearman_brown

Halves = tuple[FloatArray, FloatArray]

MOST_UNDEFINED = 0.1
"""Share of resamples without a positive reliability beyond which there is no interval."""


@dataclass(frozen=True)
class Ceiling:
    """Reliabilities of two sets of numbers, and their rank correlation with the noise taken out.

    `disattenuated` is the correlation divided by its ceiling, √(reliability · reliability); `low`
    and `high` its 95 % bootstrap interval over layers, in which the reliabilities are estimated
    again. NaN where a reliability is not above 0, or too often not in the resamples.
    """

    reliability: tuple[float, float]
    disattenuated: float
    low: float
    high: float


UNKNOWN = Ceiling((math.nan, math.nan), math.nan, math.nan, math.nan)


def split_half(halves: Halves, factor: float = 2.0) -> float:
    """Reliability of the whole from two of its halves: their rank correlation, stepped up by how
    many times as much the whole has (Spearman and Brown, approximate for ranks).

    >>> values = np.arange(5.0)
    >>> split_half((values, values))
    1.0
    """
    return spearman_brown(spearman(*halves), factor)


def ceiling_of(
    one: FloatArray,
    other: FloatArray,
    halves_of_one: Halves,
    halves_of_other: Halves,
    *,
    factors: tuple[float, float] = (2.0, 2.0),
    draws: int = DRAWS,
    seed: int = 0,
) -> Ceiling:
    """The ceiling of two arrays, one number per head, from two halves of each.

    `factors`: how many times as much each array was measured from as one of its halves. Heads that
    any array lacks (NaN) are left out.
    """
    arrays = (one, other, *halves_of_one, *halves_of_other)
    known = np.isfinite(np.stack(arrays)).all(0)
    if known.sum() < 3:
        return UNKNOWN
    data = np.stack([array[known] for array in arrays])
    indices = resampled_heads(known, draws=draws, seed=seed)
    sampled = _disattenuated(data[:, indices], factors)
    undefined = float(np.isnan(sampled).mean())
    low, high = percentiles(sampled, 0.95) if undefined <= MOST_UNDEFINED else (math.nan, math.nan)
    reliability = (
        split_half((data[2], data[3]), factors[0]),
        split_half((data[4], data[5]), factors[1]),
    )
    return Ceiling(reliability, float(_disattenuated(data[:, None], factors)[0]), low, high)


def _disattenuated(data: FloatArray, factors: tuple[float, float]) -> FloatArray:
    """The correlation without noise of every draw; `data` is array × draw × head."""
    from scipy.stats import rankdata

    ranks = rankdata(data, axis=-1)
    ranks -= ranks.mean(-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        ranks /= np.sqrt((ranks**2).sum(-1, keepdims=True))
        x, y, *halves = ranks
        between = [(halves[k] * halves[k + 1]).sum(-1) for k in (0, 2)]
        one, other = (
            np.where(r > 0, factor * r / (1 + (factor - 1) * r), np.nan)
            for r, factor in zip(between, factors, strict=True)
        )
        return np.asarray((x * y).sum(-1) / np.sqrt(one * other))
