"""Permutation tests that hold for all heads together: the largest head is what a head must beat."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headatlas.stats.arrays import FloatArray


def max_null_p(observed: FloatArray, null: FloatArray) -> FloatArray:
    """P-value of every head against the largest head of each permutation.

    `observed` has one value per head, `null` one row per permutation. Each head is standardised by
    its own null distribution first, so that heads of different spread compare; a spread that is
    rounding next to the largest does not count. The p-values are corrected for the number of heads
    (Westfall and Young's max statistic).
    """
    middle, spread = null.mean(0), null.std(0)
    spread = np.maximum(spread, max(1e-12, 1e-5 * float(spread.max())))
    largest = ((null - middle) / spread).max(1)
    beaten = (largest[:, None] >= (observed - middle) / spread).sum(0)
    return np.asarray((1 + beaten) / (1 + len(null)))


def consistency_p(
    scores: FloatArray,
    layers: NDArray[np.integer[Any]],
    *,
    permutations: int = 1000,
    seed: int = 0,
) -> FloatArray:
    """Does a head score high in seed after seed, more than any head of its layer by chance?

    `scores` is seed × head, `layers` has the layer of every head. Heads are shuffled within every
    seed and layer, since scores that depend on the layer alone say nothing about a head. What a
    head's mean over seeds has above its layer's must beat the largest such excess of all shuffled
    heads, so the p-values are corrected for the number of heads. Heads that some seed does not have
    are left out. For them, with one seed, or for a head that is alone in its layer, there is no
    p-value (NaN).
    """
    seeds, heads = scores.shape
    p = np.full(heads, np.nan)
    if seeds < 2:
        return p
    rng = np.random.default_rng(seed)
    known = np.isfinite(scores).all(0)
    members = [np.flatnonzero(known & (layers == layer)) for layer in np.unique(layers)]
    members = [own for own in members if len(own) > 1]
    above_layer = scores.astype(np.float64)
    largest = np.full(permutations, -np.inf)
    for own in members:
        above_layer[:, own] -= above_layer[:, own].mean(1, keepdims=True)
        repeated = np.broadcast_to(above_layer[:, own], (permutations, seeds, len(own)))
        shuffled = rng.permuted(repeated, axis=2).mean(1).max(1)
        largest = np.maximum(largest, shuffled)
    for own in members:
        beaten = (largest[:, None] >= above_layer[:, own].mean(0) - 1e-12).sum(0)
        p[own] = (1 + beaten) / (1 + permutations)
    return p
