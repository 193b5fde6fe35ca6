"""At which positions of a prompt heads are removed or patched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.methods.alignment import align_by_tokens

if TYPE_CHECKING:
    from headatlas.methods.measures import Measured
    from headatlas.models.model import Model
    from headatlas.models.tokens import Tokens
    from headatlas.tasks import Task

POSITIONS = ("all", "last", "changed")
"""All; those that predict the target (the last of the prompt and, of longer targets, all tokens but
the last); those of the prompt that corruption changes, such as the subject of a question or the
answers of its demonstrations."""

Positions = tuple[tuple[int, ...], ...]
"""Positions of every row."""


def check_positions(name: str) -> None:
    """Raise unless there are positions of that name."""
    if name not in POSITIONS:
        raise HeadAtlasError(f"no positions '{name}': use {', '.join(POSITIONS)}.")


def predicting_positions(rows: Sequence[Tokens]) -> Positions:
    """The positions that predict the tokens of every row's target."""
    return tuple(tuple(range(row.target_start - 1, len(row) - 1)) for row in rows)


def chosen_positions(
    model: Model, task: Task, measured: Measured, name: str
) -> tuple[Measured, Positions | None]:
    """The examples that have such positions, and those of every row; `None` for all."""
    if name == "all":
        return measured, None
    if name == "last":
        return measured, predicting_positions(measured.rows)
    positions = []
    for row, number in zip(measured.rows, measured.owner, strict=True):
        example = measured.examples[number]
        if example.corrupted is None:
            raise TaskError(
                f"'{task.name}' has examples without a corrupted prompt, so nothing is changed in "
                "them: use the positions all or last."
            )
        other = model.encode(example.corrupted, example.target)
        positions.append(align_by_tokens(row, other)[1])
    changed = [False] * len(measured.examples)
    for own, number in zip(positions, measured.owner, strict=True):
        changed[number] |= bool(own)
    kept = [own for own, number in zip(positions, measured.owner, strict=True) if changed[number]]
    if not all(changed):
        measured = measured.only_changed(task, changed)
    return measured, tuple(kept)
