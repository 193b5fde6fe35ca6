"""How far a map's order is from orders drawn by chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headatlas.stats.intervals import Variance


def between_orders(
    drawn: Sequence[Sequence[float]], own: Sequence[float] | None = None
) -> Variance:
    """The variance of a random order's score minus the mean score of n others, with its df.

    `drawn` has the scores of the orders that were drawn for every map, n each: their variance times
    (1 + 1 / n). Orders of several maps of a task are drawn in a similar way, so their variances are
    averaged: four orders alone hardly know it. But they take as many heads from every layer as
    their map does, so that those of one map may differ more: where its `own` do, their variance
    counts, with its own df.

    >>> variance, df = between_orders([[0.1, 0.3], [0.2, 0.4]])
    >>> round(variance, 3), df
    (0.03, 2.0)
    >>> round(between_orders([[0.1, 0.3], [0.2, 0.3]], own=[0.1, 0.3])[0], 3)
    0.03
    """
    known = [scores for scores in drawn if len(scores) > 1 and np.isfinite(scores).all()]
    df = sum(len(scores) - 1.0 for scores in known)
    if not known:
        return math.nan, 1.0
    variances = [float(np.var(scores, ddof=1)) * (1 + 1 / len(scores)) for scores in known]
    weights = [(len(scores) - 1) / df for scores in known]
    variance = float(np.dot(weights, variances))
    if own is not None and (alone := between_orders([own]))[0] > variance:
        return alone
    return variance, df
