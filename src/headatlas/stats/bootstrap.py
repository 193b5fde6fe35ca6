"""Bootstrap resamples of heads."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

DRAWS = 1000

MIN_LAYERS = 8
"""Layers from which whole layers are resampled; with fewer, heads are."""


def resampled_heads(known: NDArray[np.bool_], *, draws: int, seed: int) -> NDArray[Any]:
    """Numbers of heads, among those that are known (layer × head), for every draw: draw × head.

    Heads of a layer are more alike than heads of different layers, so whole layers are drawn where
    there are enough of them, all with the same number of heads.

    >>> resampled_heads(np.ones((2, 3), bool), draws=4, seed=0).shape
    (4, 6)
    """
    rng = np.random.default_rng(seed)
    total = int(known.sum())
    if known.ndim != 2:
        return rng.integers(0, total, (draws, total))
    sizes = known.sum(1)
    layers = np.flatnonzero(sizes)
    if len(layers) < MIN_LAYERS or len(set(sizes[layers].tolist())) > 1:
        return rng.integers(0, total, (draws, total))
    numbers = np.arange(total).reshape(len(layers), -1)
    layer_indices = rng.integers(0, len(layers), (draws, len(layers)))
    return np.asarray(numbers[layer_indices].reshape(draws, -1))
