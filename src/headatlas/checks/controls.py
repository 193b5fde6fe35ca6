"""Random heads to compare chosen heads with."""

from __future__ import annotations

import random
from collections.abc import Sequence

from headatlas.errors import HeadAtlasError

Head = tuple[int, int]


def matched_heads(
    chosen: Sequence[Head], heads: Sequence[Head], chance: random.Random
) -> list[Head]:
    """As many other heads, from the same layers as far as there are any, else from the nearest.

    None of them is a chosen one, and none comes twice.

    >>> matched_heads([(0, 1)], [(0, 0), (0, 1), (1, 0)], random.Random(0))
    [(0, 0)]
    """
    free = [head for head in heads if head not in set(chosen)]
    if len(free) < len(chosen):
        raise HeadAtlasError(
            f"there are {len(free)} heads besides the {len(chosen)} chosen ones: too few to "
            "compare with."
        )
    chance.shuffle(free)
    drawn = []
    for layer, _ in chance.sample(list(chosen), len(chosen)):
        nearest = min(free, key=lambda head: abs(head[0] - layer))
        free.remove(nearest)
        drawn.append(nearest)
    return sorted(drawn)
