"""The batches of a seed as tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.tasks import Task
from headatlas.tasks.encoded import encode_examples

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.tokens import Tokens


class EncodedBatches:
    """Train batches of a task, each encoded once; asked for by number, and again if need be."""

    def __init__(self, model: Model, task: Task, size: int, seed: int) -> None:
        self.model = model
        self.task = task
        self.stream = task.batches("train", size, seed)
        self.known: list[list[Tokens]] = []
        self.too_long = 0

    def __getitem__(self, number: int) -> list[Tokens]:
        while len(self.known) <= number:
            batch = next(self.stream)
            _, rows = encode_examples(self.model, self.task, batch)
            self.too_long += len(batch) - len(rows)
            self.known.append(rows)
        return self.known[number]
