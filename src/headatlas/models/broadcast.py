"""The parts of an edit in the shape of one layer's head outputs.

`z` is batch × position × head × d_head; `offset` is the position of its first token. Layers with
fewer or smaller heads than the model's largest use the first columns of a part.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

Vectors = Tensor | Mapping[int, Tensor]
"""Head vectors for all layers in one tensor, or for some layers by number."""


def gate_for(gate: Tensor, layer: int, z: Tensor, offset: int) -> Tensor:
    """The gate of one layer, as row × position × head × 1; a row or position axis may be 1."""
    heads = z.shape[2]
    if gate.ndim == 2:
        gate = gate[layer, :heads]  # head
        return gate.to(z)[None, None, :, None]
    gate = gate[:, layer, :heads]  # row head [position]
    gate = gate[:, :, None] if gate.ndim == 2 else _at_positions(gate, z, offset, fill=1.0)
    return gate.to(z).transpose(1, 2)[..., None]  # row position head 1


def _of_layer(value: Vectors | None, layer: int) -> Tensor | None:
    if value is None:
        return None
    if isinstance(value, Mapping):
        return value.get(layer)
    return value[layer] if value.ndim == 3 else value[:, layer]


def open_past_end(
    gate: Tensor, replacement: Vectors | None, layer: int, z: Tensor, offset: int
) -> Tensor:
    """Open the gate (1) at positions past the end of a per-position replacement."""
    vectors = _of_layer(replacement, layer)
    if vectors is None or vectors.ndim < 4 or (covered := vectors.shape[2] - offset) >= z.shape[1]:
        return gate
    inside = torch.arange(z.shape[1], device=z.device) < covered
    return torch.where(inside[None, :, None, None], gate, 1.0)


def vectors_for(value: Vectors | None, layer: int, z: Tensor, offset: int) -> Tensor | None:
    """The vectors of one layer, as row × position × head × d_head, or none."""
    heads, d_head = z.shape[2:]
    vectors = _of_layer(value, layer)
    if vectors is None:
        return None
    if vectors.ndim == 2:  # head d_head
        return vectors[:heads, :d_head].to(z)[None, None]
    vectors = vectors[:, :heads, ..., :d_head]  # row head [position] d_head
    if vectors.ndim == 3:
        vectors = vectors[:, :, None]
    else:
        vectors = _at_positions(vectors, z, offset, fill=0.0)
    return vectors.to(z).transpose(1, 2)  # row position head d_head


def _at_positions(value: Tensor, z: Tensor, offset: int, fill: float) -> Tensor:
    """Cut the position axis (the third) to the positions of z; past its end comes `fill`."""
    length = z.shape[1]
    value = value[:, :, offset : offset + length]
    missing = length - value.shape[2]
    if missing:
        padding = value.new_full((*value.shape[:2], missing, *value.shape[3:]), fill)
        value = torch.cat([value, padding], dim=2)
    return value
