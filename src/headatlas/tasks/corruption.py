"""Demonstrations that no longer show the task, for corrupted prompts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from headatlas.tasks.example import Example


def corrupt_demonstrations(
    shots: Sequence[Example], *, shuffle: bool, rng: random.Random
) -> list[Example]:
    """The demonstrations with wrong answers; empty if there is no way to make them wrong.

    If every demonstration has a wrong answer of its own, that is used. Otherwise, with `shuffle`,
    the answers are permuted so that as few as possible stay where they were.
    """
    if all(shot.corrupted is None and shot.corrupted_target for shot in shots):
        return [replace(shot, target=shot.corrupted_target or "") for shot in shots]
    if not shuffle or len({shot.target for shot in shots}) < 2:
        return []
    largest = max(Counter(shot.target for shot in shots).values())
    # equal answers are neighbors in this order, so shifting by the largest group changes them
    order = sorted(range(len(shots)), key=lambda i: (shots[i].target, rng.random()))
    source = {i: order[(place + largest) % len(order)] for place, i in enumerate(order)}
    return [replace(shot, target=shots[source[i]].target) for i, shot in enumerate(shots)]
