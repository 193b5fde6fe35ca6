"""Token ids that a model can run."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING

from headatlas.errors import TaskError

if TYPE_CHECKING:
    from headatlas.models.model import Model


def check_rows_of_ids(model: Model, rows: Sequence[Sequence[int]]) -> None:
    """Raise unless there are rows, each with token ids of the model's vocabulary."""
    if not isinstance(rows, Sequence):
        kind = type(rows).__name__
        raise TaskError(f"token ids come as a list of rows, not as a {kind}: use .tolist() first.")
    if not rows:
        raise TaskError(f"{model.spec.name} was given an empty list: give at least one row.")
    for number, ids in enumerate(rows):
        _check_ids(model, ids, number)


def _check_ids(model: Model, ids: Sequence[int], number: int) -> None:
    """Raise unless a row is a list of whole numbers of the vocabulary."""
    kinds = set(map(type, ids)) if isinstance(ids, Sequence) else {type(ids)}
    if not isinstance(ids, Sequence) or not all(issubclass(kind, Integral) for kind in kinds):
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise TaskError(
            f"row {number} is no list of whole numbers, but of {names}: give token ids."
        )
    if not ids:
        raise TaskError(f"row {number} is empty: give it at least one token.")
    size = model.vocabulary_size
    low, high = min(ids), max(ids)
    if low < 0 or high >= size:
        raise TaskError(
            f"row {number} has the token id {low if low < 0 else high}, but the vocabulary of "
            f"{model.spec.name} runs from 0 to {size - 1}: use the model's own tokenizer."
        )
