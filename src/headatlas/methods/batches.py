"""The batches of a seed as tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.tasks import Task
from headatlas.methods.encoding import encode_examples, encode_fitting

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.tokens import Tokens


MOST_EMPTY = 100
"""Batches in a row that may hold nothing but examples too long for the model."""


class EncodedBatches:
    """Train batches of a task, each encoded once; asked for by number, and again if need be.

    A batch is no larger than the task. Examples that are too long are left out and counted; a batch
    without any other is passed over.
    """

    def __init__(self, model: Model, task: Task, size: int, seed: int) -> None:
        self.model = model
        self.task = task
        self.stream = task.batches("train", min(size, len(task.split("train")) or 1), seed)
        self.known: list[list[Tokens]] = []
        self.too_long = 0

    def __getitem__(self, number: int) -> list[Tokens]:
        empty = 0
        while len(self.known) <= number:
            batch = next(self.stream)
            _, rows = encode_fitting(self.model, batch)
            if empty == MOST_EMPTY:
                encode_examples(self.model, self.task, batch)  # says that nothing fits
            self.too_long += len(batch) - len(rows)
            empty = 0 if rows else empty + 1
            if rows:
                self.known.append(rows)
        return self.known[number]
