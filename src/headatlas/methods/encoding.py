"""Examples as a model's tokens, as far as they fit its context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headatlas.errors import TaskError

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.tokens import Tokens
    from headatlas.tasks import Example, Task

MAX_EMPTY_BATCHES = 100
"""Batches in a row that may hold nothing but examples too long for the model."""


def encode_fitting(model: Model, examples: Sequence[Example]) -> tuple[list[Example], list[Tokens]]:
    """The examples that fit the model's context, possibly none, and their tokens."""
    encoded = model.encode_fitting([(example.prompt, example.target) for example in examples])
    pairs = [
        (example, tokens)
        for example, tokens in zip(examples, encoded, strict=True)
        if tokens is not None
    ]
    return [example for example, _ in pairs], [tokens for _, tokens in pairs]


def encode_examples(
    model: Model, task: Task, examples: Sequence[Example]
) -> tuple[list[Example], list[Tokens]]:
    """The examples that fit the model's context, and their tokens; raises if none does."""
    used, rows = encode_fitting(model, examples)
    if not used:
        raise TaskError(
            f"no example of '{task.name}' fits the context of {model.spec.name}, which holds "
            f"{model.spec.context} tokens."
        )
    return used, rows


class EncodedBatches:
    """Training batches of a task, each encoded once; looked up by number.

    A batch is no larger than the task. Examples that are too long are left out and counted; a batch
    that has no others is skipped.
    """

    def __init__(self, model: Model, task: Task, batch_size: int, seed: int) -> None:
        self._model = model
        self._task = task
        size = min(batch_size, len(task.split("train")) or 1)
        self._stream = task.batches("train", size, seed)
        self._encoded: list[list[Tokens]] = []
        self.too_long = 0

    def __getitem__(self, number: int) -> list[Tokens]:
        empty = 0
        while len(self._encoded) <= number:
            batch = next(self._stream)
            _, rows = encode_fitting(self._model, batch)
            if empty == MAX_EMPTY_BATCHES:
                encode_examples(self._model, self._task, batch)  # raises: nothing fits
            self.too_long += len(batch) - len(rows)
            empty = 0 if rows else empty + 1
            if rows:
                self._encoded.append(rows)
        return self._encoded[number]
