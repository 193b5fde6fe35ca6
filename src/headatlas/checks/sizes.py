"""How much every head writes: the size of its output after the output projection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

from headatlas.methods.encoding import encode_examples
from headatlas.models.heads.survey import head_columns
from headatlas.models.weights import load_weight

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.maps.order import Head
    from headatlas.methods.features import Features
    from headatlas.models.model import Model
    from headatlas.tasks import Task


SIZE_EXAMPLES = 16
"""Training examples of a task on which the size of a head's output is measured."""


@torch.no_grad()
def sizes_at_answers(model: Model, features: Features, split: str = "train") -> dict[Head, float]:
    """Mean norm of what every head adds to the residual stream at the answers of a split.

    An answer counts with the head's mean output over the tokens that were read.
    """
    z = torch.from_numpy(features.z[split])  # example head d_head
    return {
        head: _mean_norm(z[:, features.heads.index(head), : columns.shape[1]], columns)
        for head, columns in _projections(model)
    }


@torch.no_grad()
def sizes_on_task(model: Model, task: Task) -> dict[Head, float]:
    """Mean norm of what every head adds to the residual stream where targets are predicted."""
    task = task.for_tokenizer(model.tokenizer)
    _, rows = encode_examples(model, task, task.prompts("train", 0, SIZE_EXAMPLES))
    read = [model.read([row.ids], positions=[[at - 1 for at in row.positions]]) for row in rows]
    outputs = torch.cat([z[0] for z in read], dim=2).float().cpu()  # layer head position d_head
    return {
        head: _mean_norm(outputs[head][:, : columns.shape[1]], columns)
        for head, columns in _projections(model)
    }


def _projections(model: Model) -> Iterator[tuple[Head, Tensor]]:
    """The columns of the output projection that belong to every head: d_model × d_head."""
    modules = dict(model.hf.named_modules())
    for number, layer in enumerate(model.spec.layers):
        if layer is None:
            continue
        weight = load_weight(model.hf, f"{layer.projection}.weight")
        columns = head_columns(modules[layer.projection], weight).float().cpu()
        for head, own in enumerate(columns.unflatten(-1, (layer.heads, layer.d_head)).unbind(1)):
            yield (number, head), own


def _mean_norm(z: Tensor, columns: Tensor) -> float:
    return float((z @ columns.T).norm(dim=-1).mean())
