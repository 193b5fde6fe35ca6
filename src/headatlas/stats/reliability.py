"""Do repeated measurements of the same heads agree?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from headatlas.stats.arrays import FloatArray
from headatlas.stats.bootstrap import resampled_heads, resampled_units
from headatlas.stats.intervals import Change, welch_df

DRAWS = 200
MOST_DIVISIONS = 500


@dataclass(frozen=True)
class Reproduced:
    """How far measurements reproduce: the reliability of one, and of the mean over all of them.

    `mean_map` is the correlation between halves of the measurements, over all ways to divide them
    (`MOST_DIVISIONS` random ones if there are more), stepped up to their whole number (Spearman and
    Brown); `low` and `high` its 95 % interval over layers (heads where there are few layers) and
    measurements. NaN with a single measurement; the interval also with two.
    """

    one: float
    mean_map: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """The reliability of the mean with its interval.

        >>> Reproduced(0.5, 0.83, 0.7, 0.91).text
        '0.83 (0.70 … 0.91)'
        """
        if math.isnan(self.low):
            return f"{self.mean_map:.2f} (interval unknown)"
        return f"{self.mean_map:.2f} ({self.low:.2f} … {self.high:.2f})"


@dataclass(frozen=True)
class Kappa:
    """Agreement of any two raters, what chance gives, and kappa by Fleiss' formula."""

    agreement: float
    chance: float
    kappa: float


def spearman_brown(reliability: float, factor: float) -> float:
    """The reliability of `factor` times as many measurements; one of 0 or less stays as it is.

    >>> spearman_brown(0.5, 2), spearman_brown(-0.5, 2)
    (0.6666666666666666, -0.5)
    """
    if reliability <= 0:
        return reliability
    return factor * reliability / (1 + (factor - 1) * reliability)


def disattenuated(correlation: float, one: float, other: float) -> float:
    """A correlation of two measurements with their noise taken out.

    >>> round(disattenuated(0.6, 0.8, 0.5), 3)
    0.949
    """
    return correlation / math.sqrt(one * other) if one > 0 and other > 0 else float("nan")


def without_noise(
    one: FloatArray, other: FloatArray, *, draws: int = DRAWS, seed: int = 0
) -> Change:
    """The correlation of two means over measurements (× layers × heads) with their noise taken out.

    The 95 % interval has three variances: a bootstrap's over layers (or heads, see
    `resampled_heads`), and a jackknife's over the measurements of each (which may fall into groups,
    such as circuits). It may end above 1, as the estimate may: the reliabilities are estimates too.
    NaN with fewer than three measurements, or two heads.
    """
    from scipy.stats import t

    known = np.asarray(np.isfinite(one).all(0) & np.isfinite(other).all(0))
    one, other = one[:, known], other[:, known]
    if known.sum() < 2:
        return Change(math.nan, math.nan, math.nan)
    if min(len(one), len(other)) < 3:
        return Change(_without_noise(one, other), math.nan, math.nan)
    places = resampled_heads(known, draws=draws, seed=seed)
    sampled = [_without_noise(one[:, at], other[:, at]) for at in places]
    parts = [(float(np.nanvar(sampled, ddof=1)), resampled_units(known) - 1.0)]
    without = [
        [_without_noise(np.delete(one, k, 0), other) for k in range(len(one))],
        [_without_noise(one, np.delete(other, k, 0)) for k in range(len(other))],
    ]
    parts += [((len(some) - 1) * float(np.var(some)), len(some) - 1.0) for some in without]
    mean = _without_noise(one, other)
    half_width = float(t.ppf(0.975, welch_df(parts))) * math.sqrt(sum(part[0] for part in parts))
    return Change(mean, mean - half_width, mean + half_width)


def _without_noise(one: FloatArray, other: FloatArray) -> float:
    seen = float(np.corrcoef(one.mean(0), other.mean(0))[0, 1])
    return disattenuated(
        seen, *(_mean_map(values, divisions(len(values))) for values in (one, other))
    )


def reproduced(values: FloatArray, *, draws: int = DRAWS, seed: int = 0) -> Reproduced:
    """The reliability of measurements × layers × heads.

    The interval has two variances, both of Fisher's z: a bootstrap's over layers (or heads, see
    `resampled_heads`), and a jackknife's over the measurements, which may fall into groups, such as
    circuits. Heads that some measurement does not have are left out.
    """
    from scipy.stats import t

    if len(values) < 2:
        return Reproduced(math.nan, math.nan, math.nan, math.nan)
    count = len(values)
    known = np.asarray(np.isfinite(values).all(0))
    values = values[:, known]
    halves = divisions(count)
    mean_map = _mean_map(values, halves)
    one = spearman_brown(mean_map, 1 / count)
    if count < 3 or math.isnan(mean_map):
        return Reproduced(one, mean_map, math.nan, math.nan)
    places = resampled_heads(known, draws=draws, seed=seed)
    over_heads = [_mean_map(values[:, at], halves) for at in places]
    fewer = divisions(count - 1)
    without = [_mean_map(np.delete(values, k, 0), fewer) for k in range(count)]
    stepped = [spearman_brown(value, count / (count - 1)) for value in without]
    resampled = _fisher_z(over_heads)
    parts = [
        (float(np.var(resampled[np.isfinite(resampled)])), resampled_units(known) - 1.0),
        ((count - 1) * float(np.var(_fisher_z(stepped))), count - 1.0),
    ]
    half_width = float(t.ppf(0.975, welch_df(parts))) * math.sqrt(sum(part[0] for part in parts))
    middle = float(_fisher_z(mean_map))
    return Reproduced(one, mean_map, math.tanh(middle - half_width), math.tanh(middle + half_width))


def _fisher_z(correlations: Any) -> FloatArray:
    return np.asarray(np.arctanh(np.clip(correlations, -0.9999, 0.9999)))


def divisions(count: int) -> tuple[FloatArray, FloatArray]:
    """Ways to draw two halves from measurements, as rows of 0 and 1; an odd one is left out."""
    half = count // 2
    chosen: list[tuple[Any, Any]]
    if math.comb(count, half) * math.comb(count - half, half) // 2 <= MOST_DIVISIONS:
        chosen = [
            (one, other)
            for one in combinations(range(count), half)
            for other in combinations(sorted(set(range(count)) - set(one)), half)
            if one[0] < other[0]
        ]
    else:
        rng = np.random.default_rng(count)
        orders = [rng.permutation(count) for _ in range(MOST_DIVISIONS)]
        chosen = [(order[:half], order[half : 2 * half]) for order in orders]
    rows = np.zeros((2, len(chosen), count))
    for number, (one, other) in enumerate(chosen):
        rows[0, number, list(one)] = 1
        rows[1, number, list(other)] = 1
    return rows[0], rows[1]


def _mean_map(values: FloatArray, halves: tuple[FloatArray, FloatArray]) -> float:
    """Mean correlation of the halves' means, stepped up to all measurements; NaN with one head."""
    if values.shape[1] < 2:
        return float("nan")
    covariance = np.atleast_2d(np.cov(values))
    one, other = halves
    between = ((one @ covariance) * other).sum(1)
    scale = ((one @ covariance) * one).sum(1) * ((other @ covariance) * other).sum(1)
    if not (scale > 0).any():
        return float("nan")
    correlation = float(np.mean(between[scale > 0] / np.sqrt(scale[scale > 0])))
    return spearman_brown(correlation, len(values) / float(one[0].sum()))


def fleiss_kappa(labels: np.ndarray[Any, Any], strata: np.ndarray[Any, Any] | None = None) -> Kappa:
    """Agreement of raters × subjects on words.

    With `strata`, one number per subject, chance draws words from the subject's own stratum: heads
    of one layer, so that raters who agree on layers alone do not agree on heads.

    >>> fleiss_kappa(np.array([["a", "b"], ["a", "b"]])).kappa
    1.0
    """
    raters = len(labels)
    if raters < 2 or not labels.size:
        return Kappa(float("nan"), float("nan"), float("nan"))
    counts = np.stack([(labels == word).sum(0) for word in np.unique(labels)])
    agreement = float(((counts**2).sum(0) - raters).mean() / (raters * (raters - 1)))
    members = [np.ones(labels.shape[1], bool)]
    if strata is not None:
        members = [strata == stratum for stratum in np.unique(strata)]
    by_stratum = [
        ((counts[:, own].sum(1) / (raters * own.sum())) ** 2).sum() * own.mean() for own in members
    ]
    chance = float(sum(by_stratum))
    kappa = (agreement - chance) / (1 - chance) if chance < 1 else float("nan")
    return Kappa(agreement, chance, kappa)
