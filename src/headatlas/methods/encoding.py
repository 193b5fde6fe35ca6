"""Examples as a model's tokens, as far as they fit its context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from headatlas.errors import TaskError
from headatlas.tasks.example import Example
from headatlas.tasks.task import Task

Row = TypeVar("Row", covariant=True)


class Encoder(Protocol[Row]):
    """A model, as far as tasks know one."""

    spec: Any

    def encode(self, prompt: str, target: str) -> Row: ...


def encode_fitting(
    model: Encoder[Row], examples: Sequence[Example]
) -> tuple[list[Example], list[Row]]:
    """The examples that fit the model's context, maybe none, and their tokens."""
    rows: list[Any] = [model.encode(example.prompt, example.target) for example in examples]
    limit = model.spec.context
    fitting = [i for i, row in enumerate(rows) if limit is None or len(row) <= limit]
    return [examples[i] for i in fitting], [rows[i] for i in fitting]


def encode_examples(
    model: Encoder[Row], task: Task, examples: Sequence[Example]
) -> tuple[list[Example], list[Row]]:
    """The examples that fit the model's context, and their tokens; none is a mistake."""
    used, rows = encode_fitting(model, examples)
    if not used:
        raise TaskError(
            f"no example of '{task.name}' fits the context of {model.spec.name}, which holds "
            f"{model.spec.context} tokens."
        )
    return used, rows
