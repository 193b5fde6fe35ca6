"""Are chosen heads above others of their own layers? What depth explains alone is no evidence."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, nan, prod

import numpy as np

from headatlas.stats.arrays import FloatArray

DRAWS = 20_000
"""Random choices that the chosen heads are compared with."""


@dataclass(frozen=True)
class LayerTest:
    """Chosen heads against random ones, with as many in every layer.

    `auroc` is the share of pairs of a chosen head and another, of any layer, in which the chosen
    one is above (ties count half); `expected` is its mean over random choices, which is not 0.5
    where layers differ. `p` is one-sided: how often a random choice has as high an AUROC; it cannot
    be below `least_p`, which few heads or small layers make large. NaN where nothing was chosen, or
    everything.
    """

    auroc: float = nan
    expected: float = nan
    p: float = nan
    least_p: float = nan


def above_own_layers(
    values: FloatArray, chosen: np.ndarray, *, draws: int = DRAWS, seed: int = 0
) -> LayerTest:
    """Whether the chosen heads (layer × head) have higher values than others of their layers.

    Heads whose value is NaN do not exist.

    >>> values = np.array([[0.0, 1.0, 2.0, 3.0], [10.0, 11.0, 12.0, 13.0]])
    >>> chosen = np.array([[False] * 4, [True] + [False] * 3])  # the last layer, but its lowest
    >>> test = above_own_layers(values, chosen)
    >>> round(test.auroc, 2), round(test.expected, 1), test.p
    (0.57, 0.8, 1.0)
    """
    from scipy.stats import rankdata

    known = np.isfinite(values)
    chosen = chosen & known
    count, total = int(chosen.sum()), int(known.sum())
    if not 0 < count < total:
        return LayerTest()
    ranks = np.full(values.shape, nan)
    ranks[known] = rankdata(values[known])
    rng = np.random.default_rng(seed)
    sums, choices = np.zeros(draws), []
    for layer in np.flatnonzero(chosen.any(1)):
        own, number = ranks[layer, known[layer]], int(chosen[layer].sum())
        order = rng.random((draws, len(own))).argsort(1)
        sums += own[order[:, :number]].sum(1)
        choices.append(comb(len(own), number))
    observed = float(ranks[chosen].sum())
    least = 1 / prod(choices)
    p = (1 + int((sums >= observed - 1e-9).sum())) / (1 + draws)
    return LayerTest(
        _auroc(observed, count, total),
        _auroc(float(sums.mean()), count, total),
        min(1.0, max(p, least)),
        max(least, 1 / (1 + draws)),
    )


def _auroc(ranks: float, count: int, total: int) -> float:
    """The share of pairs won by `count` of `total` heads whose ranks have this sum."""
    return (ranks - count * (count + 1) / 2) / (count * (total - count))
