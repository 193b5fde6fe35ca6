"""How much every head writes: the size of its output after the output projection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from headatlas.methods.encoding import encode_examples
from headatlas.models.heads.columns import all_columns

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
        for head, columns in all_columns(model)
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
        for head, columns in all_columns(model)
    }


def _mean_norm(z: Tensor, columns: Tensor) -> float:
    return float((z @ columns.T).norm(dim=-1).mean())
