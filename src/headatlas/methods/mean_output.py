"""The mean output of every head: what takes the place of a head that is closed, not cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headatlas.methods.method import encode_examples
from headatlas.tasks import Task

if TYPE_CHECKING:
    from headatlas.models.model import Model

ROWS = 8
"""Examples that are read at a time."""


@torch.no_grad()
def mean_outputs(model: Model, task: Task, seed: int, examples: int) -> Tensor:
    """Mean of z over all positions of some train examples: layer × head × d_head."""
    _, rows = encode_examples(model, task, task.ask("train", seed, examples))
    total = torch.zeros(model.spec.n_layers, model.spec.n_heads, model.spec.d_head)
    for start in range(0, len(rows), ROWS):
        z = model.read([row.ids for row in rows[start : start + ROWS]])
        total += z.nan_to_num().sum(dim=(0, 3))  # layer head d_head
    return total / sum(len(row) for row in rows)
