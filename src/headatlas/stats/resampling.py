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

    Prefixes are drawn with replacement, each with all its questions: to draw questions within them
    too would count what questions differ by twice.

    >>> resampled_weights([0, 0, 1, 1], draws=3).sum(1).round(9).tolist()
    [1.0, 1.0, 1.0]
    """
    _, prefix = np.unique(np.asarray(prefixes), return_inverse=True)
    number = int(prefix.max()) + 1
    counts = np.random.default_rng(seed).multinomial(number, [1 / number] * number, draws)
    weights = counts[:, prefix].astype(float)  # draw question
    return np.asarray(weights / weights.sum(1, keepdims=True))


def equal_weights(questions: int) -> FloatArray:
    """The weights of the sample itself, as one draw: 1 × question."""
    return np.full((1, questions), 1 / questions)


def bootstrap_variance(resampled: FloatArray, prefixes: int) -> Variance:
    """The variance of a number that is known in every resample, with its degrees of freedom.

    Few prefixes make the bootstrap variance too small by (n − 1) / n, which is put right. With a
    single prefix it is unknown.
    """
    if prefixes < 2:
        return math.nan, 1.0
    return float(np.var(resampled, ddof=1)) * prefixes / (prefixes - 1), prefixes - 1.0


def bootstrap_change(
    value: float,
    resampled: FloatArray,
    prefixes: int,
    level: float = LEVEL,
    more: Sequence[Variance] = (),
) -> Change:
    """A number with its interval: the bootstrap standard error, and Student's quantile.

    `resampled` is the number in every resample; see `bootstrap_variance`. Further variances may be
    added. The interval is unknown with a single prefix.

    >>> bootstrap_change(0.5, np.array([0.4, 0.6]), prefixes=1)
    Change(mean=0.5, low=nan, high=nan)
    """
    return change_of(value, [bootstrap_variance(resampled, prefixes), *more], level)
