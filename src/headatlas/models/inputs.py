"""Token ids that a model can run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headatlas.errors import TaskError

if TYPE_CHECKING:
    from headatlas.models.model import Model


def check_rows_of_ids(model: Model, rows: Sequence[Sequence[int]]) -> None:
    """Raise unless there are rows, each with token ids of the model's vocabulary."""
    if not rows:
        raise TaskError(f"{model.spec.name} was given an empty list: give at least one row.")
    size = model.vocabulary_size
    for number, ids in enumerate(rows):
        if not len(ids):
            raise TaskError(f"row {number} is empty: give it at least one token.")
        low, high = min(ids), max(ids)
        if low < 0 or high >= size:
            raise TaskError(
                f"row {number} has the token id {low if low < 0 else high}, but the vocabulary of "
                f"{model.spec.name} runs from 0 to {size - 1}: use the model's own tokenizer."
            )
