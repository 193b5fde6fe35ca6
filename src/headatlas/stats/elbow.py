"""The elbow of a sorted curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headatlas.stats.arrays import FloatArray

DRAWS = 200


@dataclass(frozen=True)
class Elbow:
    """Number of values before the bend: the median over resampled curves; 95 % of them have it
    between `low` and `high`."""

    count: int
    low: int
    high: int


def elbow(values: FloatArray) -> int:
    """Number of values before the bend of the sorted curve: the point that lies farthest below the
    line from the largest value to the smallest. Missing values (NaN) are ignored.

    >>> elbow(np.array([9.0, 8.0, 0.3, 0.2, 0.1, 0.0]))
    2
    """
    curve = np.sort(values[np.isfinite(values)])[::-1]
    if len(curve) < 3 or curve[0] == curve[-1]:
        return 0
    x = np.linspace(0, 1, len(curve))
    y = (curve - curve[-1]) / (curve[0] - curve[-1])
    return int(np.argmax(1 - x - y))


def resampled_elbow(
    values: FloatArray, sizes: FloatArray, *, draws: int = DRAWS, seed: int = 0
) -> Elbow:
    """The elbow of a mean over parts and seeds, by resampling both with replacement.

    `values` (part × seed × head) are means over the examples of a part, `sizes` how many those are;
    a part without examples may be NaN. The elbow of a single curve hangs on its largest and its
    smallest value; the median over resampled curves varies less than half as much.
    """
    rng = np.random.default_rng(seed)
    seeds = values.shape[1]
    here = np.flatnonzero(sizes > 0)
    if not len(here):
        return Elbow(0, 0, 0)
    part_counts = rng.multinomial(len(here), np.full(len(here), 1 / len(here)), draws)
    weights = part_counts * sizes[here]
    of_seeds = rng.multinomial(seeds, np.full(seeds, 1 / seeds), draws) / seeds
    means = np.einsum("dp,ds,psh->dh", weights, of_seeds, values[here])
    counts = [elbow(curve) for curve in means / weights.sum(1, keepdims=True)]
    low, middle, high = np.quantile(counts, [0.025, 0.5, 0.975])
    return Elbow(round(middle), round(low), round(high))
