"""Bootstrap resamples of heads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

DRAWS = 1000

MIN_LAYERS = 8
"""Layers from which whole layers are resampled; with fewer, heads are."""


def resampled_units(known: NDArray[np.bool_]) -> int:
    """How many independent things `resampled_heads` draws: layers, or heads.

    >>> resampled_units(np.ones((30, 9), bool)), resampled_units(np.ones((4, 12), bool))
    (30, 48)
    """
    sizes = np.atleast_2d(known).sum(1)
    sizes = sizes[sizes > 0]
    by_layer = len(sizes) >= MIN_LAYERS and len(set(sizes.tolist())) == 1
    return len(sizes) if by_layer else int(known.sum())


def resampled_heads(known: NDArray[np.bool_], *, draws: int, seed: int) -> NDArray[Any]:
    """Numbers of heads, among those that are known (layer × head), for every draw: draw × head.

    Heads of a layer are more alike than heads of different layers, so whole layers are drawn where
    there are enough of them, all with the same number of heads.

    >>> resampled_heads(np.ones((2, 3), bool), draws=4, seed=0).shape
    (4, 6)
    """
    units = resampled_units(known)
    numbers = np.arange(known.sum()).reshape(units, -1)  # unit × its heads
    drawn_units = np.random.default_rng(seed).integers(0, units, (draws, units))
    return np.asarray(numbers[drawn_units].reshape(draws, -1))
