"""Permutation tests that hold for all heads together: the largest head is what a head must beat."""

from __future__ import annotations

import numpy as np

from headatlas.stats.arrays import FloatArray


def max_null_p(observed: FloatArray, null: FloatArray) -> FloatArray:
    """P-value of every head against the largest head of each permutation.

    `observed` has one value per head, `null` one row per permutation. Each head is standardised by
    its own null distribution first, so that heads of different spread compare; a spread that is
    rounding beside the largest does not count. The p-values are corrected for the number of heads
    (Westfall and Young's max statistic).
    """
    middle, spread = null.mean(0), null.std(0)
    spread = np.maximum(spread, max(1e-12, 1e-5 * float(spread.max())))
    largest = ((null - middle) / spread).max(1)
    beaten = (largest[:, None] >= (observed - middle) / spread).sum(0)
    return np.asarray((1 + beaten) / (1 + len(null)))


def consistency_p(scores: FloatArray, *, permutations: int = 1000, seed: int = 0) -> FloatArray:
    """Does a head score high in seed after seed, more than any head would by chance?

    `scores` is seed × head. Heads are shuffled within every seed; a head's mean over seeds must
    beat the largest mean of all shuffled heads, so the p-values are corrected for the number of
    heads. With one seed there is no p-value (NaN).
    """
    seeds, heads = scores.shape
    if seeds < 2:
        return np.full(heads, np.nan)
    rng = np.random.default_rng(seed)
    observed = scores.mean(0)
    beaten = np.zeros(heads)
    for _ in range(permutations):
        beaten += rng.permuted(scores, axis=1).mean(0).max() >= observed
    return np.asarray((1 + beaten) / (1 + permutations))
