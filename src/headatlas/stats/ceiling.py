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

    `disattenuated` is that correlation, see `ceiling_of`; `low` and `high` its 95 % bootstrap
    interval over layers, in which the reliabilities are estimated again. NaN where a reliability is
    not above 0, or too often not in the resamples.
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
    >>> round(split_half((values, values)), 6)
    1.0
    """
    return spearman_brown(spearman(*halves), factor)


def reliabilities(
    halves_of_one: Halves, halves_of_other: Halves, factors: tuple[float, float] = (2.0, 2.0)
) -> tuple[float, float]:
    """Reliabilities of two arrays over the heads that all halves have."""
    arrays = np.stack([*halves_of_one, *halves_of_other])
    a1, a2, b1, b2 = arrays[:, np.isfinite(arrays).all(0)]
    return split_half((a1, a2), factors[0]), split_half((b1, b2), factors[1])


def ceiling_of(
    one: FloatArray,
    other: FloatArray,
    halves_of_one: Halves,
    halves_of_other: Halves,
    *,
    factors: tuple[float, float] = (2.0, 2.0),
    shared: bool = False,
    draws: int = DRAWS,
    seed: int = 0,
) -> Ceiling:
    """The ceiling of two arrays, one number per head, from two halves of each.

    Without noise, the correlation is r(one, other) / √(reliability · reliability), if the errors of
    the arrays are independent. If they are `shared`, because both were measured on the same
    samples, that would count the agreement of errors too. It is then the correlation across
    opposite halves, A of one and B of the other, which share no sample:
    (r(A1, B2) + r(A2, B1)) / 2 / √(r(A1, A2) · r(B1, B2)).

    `factors`: how many times as much each array was measured from as one of its halves. Heads that
    any array lacks (NaN) are left out.
    """
    arrays = (one, other, *halves_of_one, *halves_of_other)
    known = np.isfinite(np.stack(arrays)).all(0)
    if known.sum() < 3:
        return UNKNOWN
    data = np.stack([array[known] for array in arrays])
    indices = resampled_heads(known, draws=draws, seed=seed)
    sampled = _disattenuated(data[:, indices], factors, shared)
    undefined = float(np.isnan(sampled).mean())
    low, high = percentiles(sampled, 0.95) if undefined <= MOST_UNDEFINED else (math.nan, math.nan)
    reliability = reliabilities((data[2], data[3]), (data[4], data[5]), factors)
    return Ceiling(reliability, float(_disattenuated(data[:, None], factors, shared)[0]), low, high)


def _disattenuated(data: FloatArray, factors: tuple[float, float], shared: bool) -> FloatArray:
    """The correlation without noise of every draw; `data` is array × draw × head."""
    from scipy.stats import rankdata

    ranks = rankdata(data, axis=-1)
    ranks -= ranks.mean(-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        ranks /= np.sqrt((ranks**2).sum(-1, keepdims=True))
        x, y, a1, a2, b1, b2 = ranks
        own = (a1 * a2).sum(-1), (b1 * b2).sum(-1)
        one, other = (np.where(r > 0, r, np.nan) for r in own)
        if shared:
            crossed = ((a1 * b2).sum(-1) + (a2 * b1).sum(-1)) / 2
            return np.asarray(crossed / np.sqrt(one * other))
        one, other = (
            factor * r / (1 + (factor - 1) * r)
            for r, factor in zip((one, other), factors, strict=True)
        )
        return np.asarray((x * y).sum(-1) / np.sqrt(one * other))
