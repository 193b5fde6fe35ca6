"""Bootstrap over questions that follow few-shot prefixes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headatlas.stats.arrays import FloatArray
from headatlas.stats.clustered import LEVEL
from headatlas.stats.intervals import Change, Variance, change_of

DRAWS = 1000


def resampled_weights(prefixes: Sequence[int], *, draws: int = DRAWS, seed: int = 0) -> FloatArray:
    """The weight of every question in every resample, draw × question; each draw sums to 1.

    Prefixes are drawn with replacement, and then as many of their questions. The questions of a
    prefix that stands alone are all of it, so that they are only drawn with it.

    >>> resampled_weights([0, 0, 1, 1], draws=3).sum(1).round(9).tolist()
    [1.0, 1.0, 1.0]
    """
    _, prefix = np.unique(np.asarray(prefixes), return_inverse=True)
    members = [np.flatnonzero(prefix == number) for number in range(int(prefix.max()) + 1)]
    rng = np.random.default_rng(seed)
    weights = np.zeros((draws, len(prefix)))
    for draw in range(draws):
        for number in rng.integers(0, len(members), len(members)):
            own = members[number]
            np.add.at(weights[draw], rng.choice(own, len(own)), 1.0)
    return np.asarray(weights / weights.sum(1, keepdims=True))


def equal_weights(questions: int) -> FloatArray:
    """The weights of the sample itself, as one draw: 1 × question."""
    return np.full((1, questions), 1 / questions)


def bootstrap_change(
    value: float,
    resampled: FloatArray,
    prefixes: int,
    level: float = LEVEL,
    more: Sequence[Variance] = (),
) -> Change:
    """A number with its interval: the bootstrap standard error, and Student's quantile.

    `resampled` is the number in every resample. Few prefixes make the bootstrap variance too small
    by (n − 1) / n, which is put right; n − 1 are its degrees of freedom. Further variances may be
    added. The interval is unknown with a single prefix.

    >>> bootstrap_change(0.5, np.array([0.4, 0.6]), prefixes=1)
    Change(mean=0.5, low=nan, high=nan)
    """
    if prefixes < 2:
        return Change(value, math.nan, math.nan)
    variance = float(np.var(resampled, ddof=1)) * prefixes / (prefixes - 1)
    return change_of(value, [(variance, prefixes - 1.0), *more], level)
