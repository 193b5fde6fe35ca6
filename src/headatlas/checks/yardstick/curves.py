"""Which heads are kept at the points of a faithfulness curve, by a map and by chance."""

from __future__ import annotations

import random
from collections.abc import Sequence

from headatlas.maps.order import Head

KEPT = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""The shares of heads at which circuits are measured, as in the MIB benchmark."""

NEARLY_ALL = (0.8, 0.9, 0.98)
"""Further shares of heads that are kept: the least important ones are removed first."""

REMOVED = KEPT
"""The shares of heads that are removed, the most important ones first."""


def curve_sets(order: Sequence[Head]) -> dict[str, list[tuple[Head, ...]]]:
    """The heads that are kept at every point: of the curve `keep`, and of the curve `remove`.

    `order` has the most important head first. As in the benchmark, a share is a number of heads
    that is rounded down; but of the nearly complete sets at least one head is missing.

    >>> sets = curve_sets([(0, head) for head in range(10)])
    >>> [len(heads) for heads in sets["keep"]]
    [0, 0, 0, 0, 0, 0, 1, 2, 5, 8, 9, 9, 10]
    >>> [len(heads) for heads in sets["remove"]]
    [10, 10, 10, 10, 10, 10, 9, 8, 5, 0]
    """
    number = len(order)
    return {
        "keep": [tuple(order[: count_kept(share, number)]) for share in keep_shares()],
        "remove": [tuple(order[int(share * number + 1e-9) :]) for share in REMOVED],
    }


def keep_shares() -> tuple[float, ...]:
    """All shares of the curve `keep`, in order."""
    return tuple(sorted({*KEPT, *NEARLY_ALL}))


def count_kept(share: float, number: int) -> int:
    """How many of a model's heads a share is."""
    kept = int(share * number + 1e-9)
    return min(kept, number - 1) if share < 1 else number


def shuffled_within_layers(order: Sequence[Head], rng: random.Random) -> list[Head]:
    """An order that takes as many heads from every layer at every point, but random ones.

    >>> shuffled = shuffled_within_layers([(1, 0), (0, 1), (1, 1), (0, 0)], random.Random(1))
    >>> [layer for layer, _ in shuffled]
    [1, 0, 1, 0]
    """
    by_layer: dict[int, list[Head]] = {}
    for head in order:
        by_layer.setdefault(head[0], []).append(head)
    for heads in by_layer.values():
        rng.shuffle(heads)
    return [by_layer[layer].pop() for layer, _ in order]
