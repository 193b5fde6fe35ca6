"""The mean output of every head: what replaces a head in mean ablation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headatlas.models.edit import Edit
from headatlas.models.tokens import Tokens

if TYPE_CHECKING:
    from headatlas.models.model import Model

MEAN_EXAMPLES = 64
"""Number of examples of a task over which a head's mean output is taken."""

ROWS = 8
"""Number of examples that are read at a time."""


@torch.no_grad()
def mean_outputs(model: Model, rows: Sequence[Tokens]) -> Tensor:
    """Mean of z over all positions of the rows: layer × head × d_head."""
    total = torch.zeros(model.spec.n_layers, model.spec.n_heads, model.spec.d_head)
    for start in range(0, len(rows), ROWS):
        z = model.read([row.ids for row in rows[start : start + ROWS]], edit=Edit())
        total += z.nan_to_num().sum(dim=(0, 3))  # layer head d_head
    return total / sum(len(row) for row in rows)
