"""Intervals of means over questions that follow few-shot prefixes that belong to seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headatlas.stats.arrays import FloatArray
from headatlas.stats.intervals import Change, Variance, change_of

MIN_SEEDS = 3
"""From this number of seeds an interval allows for other seeds, not only for these."""


@dataclass(frozen=True)
class Nested:
    """One number per question, with the seed, the few-shot prefix and the name of each.

    Prefixes belong to a seed; the same question may come in several seeds, but once in each. All
    seeds count alike in the mean.
    """

    values: FloatArray
    seeds: tuple[int, ...]
    prefixes: tuple[int, ...]
    questions: tuple[str, ...]

    @property
    def seed_means(self) -> FloatArray:
        """The mean of every seed."""
        values, seed = self._by_seed()
        return np.asarray(np.bincount(seed, values) / np.bincount(seed))

    def variances(self) -> list[Variance]:
        """The variances of the mean that questions, prefixes and seeds make, to be added up.

        From three seeds on these are clusters, which also holds what differs between their
        prefixes: S / (S − 1) · Σ_s ((x̄_s − x̄) / S)², with S − 1 degrees of freedom. For fewer
        seeds prefixes are the clusters, within each seed. Both ways, questions that several seeds
        share add the products of their deviations in different seeds (clustering in two ways as in
        Cameron, Gelbach and Miller 2011), unless the sum is negative.
        """
        values, seed = self._by_seed()
        means, count = self.seed_means, len(self.seed_means)
        weighted = (values - means[seed]) / (count * np.bincount(seed)[seed])
        if count >= MIN_SEEDS:
            spread = float(np.var(means, ddof=1)) / count
            first = (spread, count - 1.0)
        else:
            first = _prefix_variance(weighted, seed, np.asarray(self.prefixes))
        _, question = np.unique(np.asarray(self.questions), return_inverse=True)
        shared = float(np.sum(np.bincount(question, weighted) ** 2) - np.sum(weighted**2))
        several = int(np.sum(np.bincount(question) > 1))
        return [first, (max(0.0, shared), float(max(1, several - 1)))]

    def change(self, level: float = 0.95, more: Sequence[Variance] = ()) -> Change:
        """The mean with its interval; further variances may be added."""
        return change_of(float(self.seed_means.mean()), [*self.variances(), *more], level)

    def _by_seed(self) -> tuple[FloatArray, Any]:
        _, seed = np.unique(np.asarray(self.seeds), return_inverse=True)
        return np.asarray(self.values, float), seed


def _prefix_variance(weighted: FloatArray, seed: Any, prefixes: Any) -> Variance:
    """The variance between the prefixes of a seed, summed over seeds; NaN if one has a single
    prefix."""
    variance, df = 0.0, 0
    for number in np.unique(seed):
        of_seed = seed == number
        _, prefix = np.unique(prefixes[of_seed], return_inverse=True)
        sums = np.bincount(prefix, weighted[of_seed])
        if len(sums) < 2:
            return math.nan, 1.0
        variance += len(sums) / (len(sums) - 1) * float(np.sum(sums**2))
        df += len(sums) - 1
    return variance, float(df)
