"""Pairs of tasks that are contrasted: one is retained while the other is forgotten."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headatlas.errors import TaskError
from headatlas.tasks.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class TaskPairs:
    """Tasks to retain, each with one to forget; usually two forms of the same questions.

    >>> from headatlas.tasks import load_task
    >>> TaskPairs((load_task("antonym:instruction"),), (load_task("antonym:icl"),)).name
    'antonym:instruction-not-antonym:icl'
    """

    retain: tuple[Task, ...]
    forget: tuple[Task, ...]

    def __post_init__(self) -> None:
        if not self.retain or len(self.retain) != len(self.forget):
            raise TaskError(
                f"every task to retain needs one to forget: there are {len(self.retain)} tasks to "
                f"retain and {len(self.forget)} to forget."
            )
        for retained, forgotten in self:
            if retained.hash == forgotten.hash:
                raise TaskError(f"'{retained.name}' cannot be retained and forgotten at once.")

    def __iter__(self) -> Iterator[tuple[Task, Task]]:
        return iter(zip(self.retain, self.forget, strict=True))

    @property
    def name(self) -> str:
        more = f"+{len(self.retain) - 1}-more" if len(self.retain) > 1 else ""
        return "-not-".join(side[0].name + more for side in (self.retain, self.forget))

    @property
    def hash(self) -> str:
        """SHA-256 of the contents of all tasks, in their order."""
        hashes = [task.hash for pair in self for task in pair]
        return hashlib.sha256(" ".join(hashes).encode()).hexdigest()

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(
            dict.fromkeys(remark for pair in self for task in pair for remark in task.remarks)
        )

    def for_tokenizer(self, tokenizer: PreTrainedTokenizerBase | None) -> TaskPairs:
        """The pairs for a model; see `Task.for_tokenizer`."""
        return replace(
            self,
            retain=tuple(task.for_tokenizer(tokenizer) for task in self.retain),
            forget=tuple(task.for_tokenizer(tokenizer) for task in self.forget),
        )
