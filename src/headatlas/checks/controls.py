"""Random heads to compare chosen heads with."""

from __future__ import annotations

import random
from collections.abc import Sequence

from headatlas.errors import HeadAtlasError
from headatlas.maps.order import Head


def matched_heads(chosen: Sequence[Head], heads: Sequence[Head], rng: random.Random) -> list[Head]:
    """As many other heads, from the same layers as far as these have any, else from the nearest.

    None of them is among the chosen, and none comes twice.

    >>> matched_heads([(0, 1)], [(0, 0), (0, 1), (1, 0)], random.Random(0))
    [(0, 0)]
    """
    free = [head for head in heads if head not in set(chosen)]
    if len(free) < len(chosen):
        raise HeadAtlasError(
            f"only {len(free)} heads are left besides the {len(chosen)} chosen ones: too few to "
            "compare with."
        )
    rng.shuffle(free)
    sampled = []
    for layer, _ in rng.sample(list(chosen), len(chosen)):
        nearest = min(free, key=lambda head: abs(head[0] - layer))
        free.remove(nearest)
        sampled.append(nearest)
    return sorted(sampled)
