"""Random heads to compare chosen heads with."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headatlas.maps.order import Head
from headatlas.stats.arrays import FloatArray

NEAREST = 4
"""A control is one of this number of heads whose output is nearest in size."""

TRIES = 20
"""How often a set of controls is drawn, at most, to get one that was not drawn before."""


def matched_heads(
    chosen: Sequence[Head], heads: Sequence[Head], sizes: Mapping[Head, float], rng: random.Random
) -> tuple[list[Head], list[Head]]:
    """The chosen heads that can be compared, and as many random others that are like them.

    `chosen` has the most important first, `sizes` the size of every head's output. For every chosen
    head another one of its layer is drawn from the `NEAREST` in size, `controls[i]` for `kept[i]`;
    none is among the chosen, and none comes twice. A layer with too few others keeps its most
    important chosen heads only, the same ones in every draw.

    >>> sizes = {(0, 0): 1.0, (0, 1): 1.0, (1, 0): 1.0}
    >>> matched_heads([(0, 1), (1, 0)], list(sizes), sizes, random.Random(0))
    ([(0, 1)], [(0, 0)])
    """
    taken = set(chosen)
    free: dict[int, list[Head]] = {}
    for head in heads:
        if head not in taken:
            free.setdefault(head[0], []).append(head)
    room = Counter({layer: len(others) for layer, others in free.items()})
    kept = []
    for head in chosen:
        if room[head[0]] > 0:
            room[head[0]] -= 1
            kept.append(head)
    partners: dict[Head, Head] = {}
    for head in rng.sample(kept, len(kept)):
        others = free[head[0]]
        rng.shuffle(others)  # heads of equal size come in random order
        others.sort(key=lambda other: _distance(sizes[head], sizes[other]))
        partners[head] = others.pop(rng.randrange(min(NEAREST, len(others))))
    return kept, [partners[head] for head in kept]


def _distance(one: float, other: float) -> float:
    """How far two sizes are apart, as a ratio: |log(one / other)|."""
    return abs(math.log(max(one, 1e-12)) - math.log(max(other, 1e-12)))


@dataclass(frozen=True)
class Controls:
    """The chosen heads that are masked, those left out, and draws of random heads instead."""

    kept: tuple[Head, ...]
    left_out: tuple[Head, ...]
    draws: tuple[tuple[Head, ...], ...]

    @classmethod
    def of(
        cls,
        chosen: Sequence[Head],
        heads: Sequence[Head],
        sizes: Mapping[Head, float],
        rng: random.Random,
        draws: int,
    ) -> Controls:
        """Draw sets of matched heads, `draws[i]` in the order of `kept`.

        A set comes twice only if `TRIES` draws gave none that is new.
        """
        sets: list[tuple[Head, ...]] = []
        kept: list[Head] = []
        for _ in range(draws):
            for _ in range(TRIES):
                kept, controls = matched_heads(chosen, heads, sizes, rng)
                if frozenset(controls) not in map(frozenset, sets):
                    break
            sets.append(tuple(controls))
        left_out = tuple(head for head in chosen if head not in set(kept))
        return cls(tuple(kept), left_out, tuple(sets))

    @property
    def variance_ratio(self) -> float:
        """How much more a random choice differs from its controls than these among themselves.

        Were the chosen heads random too, their effect minus the controls' mean would be a sum over
        heads of (1 if chosen) − p, where p is the share of draws with the head; that of a draw, of
        (1 if drawn) − p. With independent heads the variances are k + Σ p² and, as estimated from n
        draws, (k − Σ p²) · n / (n − 1) for k heads. Infinite if all draws are one set. A large pool
        gives 1 + 1 / n.
        """
        draws, heads = len(self.draws), len(self.kept)
        counts = Counter(head for draw in self.draws for head in draw)
        shared = sum((count / draws) ** 2 for count in counts.values())
        if draws < 2 or heads - shared < 1e-9:
            return math.inf
        return (heads + shared) / (heads - shared) * (draws - 1) / draws

    def size_ratio(self, sizes: Mapping[Head, float]) -> float:
        """Mean output size of the random heads, in units of that of the masked ones."""
        random_heads = [sizes[head] for draw in self.draws for head in draw]
        return float(np.mean(random_heads) / np.mean([sizes[head] for head in self.kept]))


def overlap_correlation(sets: Sequence[Sequence[Head]], heads: Sequence[Head]) -> FloatArray:
    """Correlation within layers of which heads are in two sets (set × set), at least 0.

    Sets that share no more heads than sets drawn from the same layers would have a correlation of
    0, equal sets one of 1. So do the effects of such sets, if heads add up.
    """
    members = np.array([[float(head in set(some)) for head in heads] for some in sets])
    layers = np.array([layer for layer, _ in heads])
    for layer in set(layers.tolist()):
        members[:, layers == layer] -= members[:, layers == layer].mean(1, keepdims=True)
    norms = np.maximum(np.linalg.norm(members, axis=1), 1e-12)
    correlation = np.clip(members @ members.T / np.outer(norms, norms), 0, 1)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)
