"""The weights by which heads write: every head's columns of its output projection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headatlas.models.heads.survey import head_columns
from headatlas.models.weights import load_weight

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.models.model import Model
    from headatlas.models.spec import Head


def layer_columns(model: Model, layer: int) -> Tensor:
    """The columns of a layer's output projection by head, in float32: head × d_model × d_head."""
    spec = model.spec.layer(layer)
    weight = load_weight(model.hf, f"{spec.projection}.weight")
    columns = head_columns(model.hf.get_submodule(spec.projection), weight).float().cpu()
    by_head: Tensor = columns.unflatten(-1, (spec.heads, spec.d_head))  # d_model head d_head
    return by_head.transpose(0, 1)


def all_columns(model: Model) -> Iterator[tuple[Head, Tensor]]:
    """Every head with its columns: d_model × d_head."""
    for layer, spec in enumerate(model.spec.layers):
        if spec is not None:
            for head, own in enumerate(layer_columns(model, layer)):
                yield (layer, head), own
