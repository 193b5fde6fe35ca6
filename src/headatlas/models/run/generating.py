"""Continuing prompts under an edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from headatlas.errors import EditError
from headatlas.models.edit import Edit
from headatlas.models.inputs import check_rows_of_ids

if TYPE_CHECKING:
    from headatlas.models.model import Model


@torch.no_grad()
def generate_ids(
    model: Model, rows: Sequence[Sequence[int]], edit: Edit, options: dict[str, Any]
) -> list[list[int]]:
    """The new token ids of every row, through the `generate` of `transformers`.

    Rows are padded on the left. Greedy with at most 32 new tokens, unless the options differ.
    """
    check_rows_of_ids(model, rows)
    edit.check_rows(len(rows))
    length = max(len(row) for row in rows)
    if edit.by_position and any(len(row) != length for row in rows):
        raise EditError("an edit by position needs prompts of one length to generate from.")
    ids = torch.tensor([[*[0] * (length - len(row)), *row] for row in rows])
    mask = torch.tensor([[*[0] * (length - len(row)), *[1] * len(row)] for row in rows])
    settings: dict[str, Any] = {"do_sample": False, "max_new_tokens": 32, **options}
    if model.hf.generation_config.pad_token_id is None:
        settings.setdefault("pad_token_id", 0)
    with model.editing(edit, copies=True):
        out = model.hf.generate(
            ids.to(model.device), attention_mask=mask.to(model.device), **settings
        )
    new: list[list[int]] = out[:, length:].tolist()
    return new
