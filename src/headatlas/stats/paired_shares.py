"""Two shares of correct answers to the same questions, compared with an interval.

One of them may be a mean over seeds. Questions come in clusters, those that follow the same
demonstrations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headatlas.stats.arrays import FloatArray
from headatlas.stats.clustered import LEVEL, mean_se
from headatlas.stats.intervals import (
    Change,
    clustered_share_interval,
    normal_quantile,
    share_interval,
    welch_df,
)

Interval = tuple[float, float]


@dataclass(frozen=True)
class PairedShares:
    """The share of questions answered correctly before and after, each with its 95 % interval.

    `correlation` is that of the two estimates: above 0 if the questions that are right before tend
    to be right after.
    """

    before: float
    after: float
    before_interval: Interval
    after_interval: Interval
    correlation: float = 0.0

    def compare(self, factor: float) -> Change:
        """The difference after − factor · before, with its 95 % interval.

        The two intervals are combined by the squares of their distances from the estimates, less
        what the correlation explains (Newcombe 1998, method 10; MOVER, Zou and Donner 2008). Unlike
        a standard error, this stays honest where no question or every question is right.

        >>> shares = PairedShares(0.9, 0.0, (0.81, 0.95), (0.0, 0.05))
        >>> round(shares.compare(0.2).high, 2)
        -0.13
        """
        (after_low, after_high), (before_low, before_high) = (
            self.after_interval,
            self.before_interval,
        )
        mean = self.after - factor * self.before

        def distance(after: float, before: float) -> float:
            scaled = factor * before
            square = after**2 + scaled**2 - 2 * self.correlation * after * scaled
            return math.sqrt(max(0.0, square))

        return Change(
            mean,
            mean - distance(self.after - after_low, before_high - self.before),
            mean + distance(after_high - self.after, self.before - before_low),
        )


def paired_shares(before: FloatArray, after: FloatArray, clusters: Sequence[str]) -> PairedShares:
    """Compare answers to the same questions: `before` per question, `after` per seed and question.

    >>> right = np.array([1.0, 1.0, 1.0, 0.0])
    >>> paired_shares(right, np.zeros((3, 4)), list("abcd")).after
    0.0
    """
    by_question = after.mean(axis=0)
    after_se = math.hypot(mean_se(by_question, clusters), _seed_se(after))
    before_se = mean_se(before, clusters)
    product = after_se * before_se
    covariance = _covariance(by_question, before, clusters)
    correlation = covariance / product if math.isfinite(product) and product > 0 else 0.0
    return PairedShares(
        float(before.mean()),
        float(after.mean()),
        clustered_share_interval(before, clusters),
        seeds_share_interval(after, clusters),
        float(np.clip(correlation, -1.0, 1.0)),
    )


def seeds_share_interval(right: FloatArray, clusters: Sequence[str]) -> Interval:
    """The 95 % Wilson interval of a share of correct answers (seed × question), over questions and
    seeds.

    The variance of the mean over seeds is that over clusters of questions plus that over seeds, and
    Welch's formula combines their degrees of freedom; see `clustered_share_interval` for how it
    becomes an effective number of questions, here never more than there are. One seed gives the
    interval over questions alone.
    """
    from scipy.stats import t

    by_question, seeds = right.mean(axis=0), len(right)
    if seeds == 1:
        return clustered_share_interval(by_question, clusters)
    share = float(by_question.mean())
    number = len(set(clusters))
    parts = [(mean_se(by_question, clusters) ** 2, number - 1), (_seed_se(right) ** 2, seeds - 1)]
    variance = sum(part for part, _ in parts)
    if not (0 < share < 1 and variance > 0):  # a NaN, of a single cluster, is not above 0 either
        return share_interval(share, number)
    penalty = (normal_quantile(LEVEL) / float(t.ppf(0.975, float(welch_df(parts))))) ** 2
    return share_interval(share, min(penalty * share * (1 - share) / variance, len(by_question)))


def _seed_se(right: FloatArray) -> float:
    """Standard error of the mean over seeds; 0 of one seed, which says nothing about others."""
    seeds = len(right)
    return float(right.mean(axis=1).std(ddof=1)) / math.sqrt(seeds) if seeds > 1 else 0.0


def _covariance(one: FloatArray, other: FloatArray, clusters: Sequence[str]) -> float:
    """Covariance of two means over the same questions; NaN for a single cluster."""
    _, group = np.unique(np.asarray(clusters), return_inverse=True)
    sums = [np.bincount(group, weights=values - values.mean()) for values in (one, other)]
    number = len(sums[0])
    if number < 2:
        return math.nan
    return float(number / (number - 1) * np.sum(sums[0] * sums[1]) / len(one) ** 2)
