"""How many heads two sets have in common."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass


@dataclass(frozen=True)
class Overlap:
    """Heads that two sets have in common, as a share of their union (Jaccard), and by chance."""

    common: int
    union: int
    expected: float

    @property
    def share(self) -> float:
        return self.common / self.union if self.union else float("nan")


def overlap(one: Collection[Hashable], other: Collection[Hashable], total: int) -> Overlap:
    """Overlap of two sets that were drawn from `total` heads.

    >>> overlap({1, 2, 3}, {2, 3, 4}, 10).share
    0.5
    """
    first, second = set(one), set(other)
    chance = len(first) * len(second) / max(1, total)
    together = len(first) + len(second) - chance
    expected = chance / together if together else float("nan")
    return Overlap(len(first & second), len(first | second), expected)
