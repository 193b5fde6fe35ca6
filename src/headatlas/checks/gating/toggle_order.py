"""Which heads are toggled: in the order of a score, and random others for comparison."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from headatlas.checks.controls import Controls
from headatlas.maps.order import Head, heads_by
from headatlas.maps.roles import THRESHOLD
from headatlas.stats.arrays import FloatArray

DRAWS, DRAWS_PER_SEED = 16, 4
"""Sets of random heads, at least: of all seeds together, and of each."""

VERDICT_SHARE, MIN_HEADS = 0.1, 4
"""The share of a model's heads at which verdicts are read, and the fewest heads that this is."""

POINTS = 4
"""Points of a curve, at most."""

OPPOSITE = {"facilitation": "interference", "interference": "facilitation"}


@dataclass(frozen=True)
class ToggleOrder:
    """The heads of a role in one seed, by falling score.

    `draws` holds random heads without a role that counts against the comparison, one for each head
    that has a partner: of its layer, and of those left there one of the nearest in output size.
    `left_out` heads have none; they are toggled only if the claim is about all heads of the role.
    """

    heads: tuple[Head, ...]
    draws: tuple[tuple[Head, ...], ...]
    left_out: int

    @property
    def count(self) -> int:
        """The number of heads that have the role."""
        return self.left_out + len(self.draws[0])

    @classmethod
    def of(
        cls,
        gates: Mapping[str, xr.DataArray],
        score: str,
        sizes: Mapping[Head, float],
        draws: int,
        name: str,
    ) -> ToggleOrder:
        """The order of one seed's scores (layer × head); the name makes the draws repeatable.

        Heads with the opposite role are no controls: they move log P the other way, so that any
        heads would look facilitating next to interfering ones.
        """
        chosen = heads_by(gates[score].where(gates[score] >= THRESHOLD))
        opposite = OPPOSITE.get(score)
        excluded = set()
        if opposite is not None:
            excluded = set(heads_by(gates[opposite].where(gates[opposite] >= THRESHOLD)))
        pool = [head for head in sizes if head not in excluded]
        controls = Controls.of(chosen, pool, sizes, random.Random(name), draws)
        heads = tuple(chosen) if score == "irrelevance" else controls.kept
        return cls(heads, controls.draws, len(controls.left_out))

    def first(self, number: int) -> ToggleOrder:
        """The first heads of the order and as many partners.

        These are their own, except where heads without a partner are toggled too.
        """
        return ToggleOrder(
            self.heads[:number], tuple(draw[:number] for draw in self.draws), self.left_out
        )

    def size_ratio(self, sizes: Mapping[Head, float]) -> float:
        """Mean output size of the random heads, in units of that of the toggled ones."""
        random_heads = [sizes[head] for draw in self.draws for head in draw]
        if not random_heads:
            return math.nan
        return float(np.mean(random_heads) / np.mean([sizes[head] for head in self.heads]))

    def indicators(self, heads: list[Head]) -> tuple[FloatArray, FloatArray]:
        """Which of all heads are toggled (1 or 0): head, and draw × head."""
        own, draws = set(self.heads), [set(draw) for draw in self.draws]
        return (
            np.array([float(head in own) for head in heads]),
            np.array([[float(head in draw) for head in heads] for draw in draws]),
        )


def draws_per_seed(seeds: int) -> int:
    """Sets of random heads for every seed.

    >>> [draws_per_seed(seeds) for seeds in (1, 3, 10)]
    [16, 6, 4]
    """
    return max(DRAWS_PER_SEED, math.ceil(DRAWS / seeds))


def curve_points(score: str, heads: int, most: int) -> tuple[list[int], int]:
    """The numbers of heads at the points of a curve, and the one at which its verdict is read.

    `heads` is the number of the model's heads, `most` that of the role's. Facilitation and
    interference are read at a tenth of the model's heads: many more would ruin it whichever they
    are. Irrelevance is a claim about all heads with the role, so all are toggled.

    >>> curve_points("facilitation", 270, 131)
    ([1, 5, 27, 81], 27)
    >>> curve_points("irrelevance", 270, 59), curve_points("interference", 270, 3)
    (([1, 5, 27, 59], 59), ([1, 3], 3))
    """
    tenth = max(MIN_HEADS, round(VERDICT_SHARE * heads))
    last = most if score == "irrelevance" else 3 * tenth
    numbers = {1, round(math.sqrt(tenth)), tenth, last}
    fixed = last if score == "irrelevance" else tenth
    return sorted({min(number, most) for number in numbers}), min(fixed, most)
