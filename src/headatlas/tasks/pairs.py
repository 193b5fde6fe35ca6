"""Pairs of tasks that are learned against each other: one is kept, the other forgotten."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from headatlas.errors import TaskError
from headatlas.tasks.forms import Tokenizer
from headatlas.tasks.task import Task


@dataclass(frozen=True)
class TaskPairs:
    """Tasks to retain, each with the one to forget; mostly two forms of the same questions.

    >>> from headatlas.tasks import load_task
    >>> TaskPairs((load_task("antonym:instruction"),), (load_task("antonym:icl"),)).name
    'antonym:instruction-not-antonym:icl'
    """

    retain: tuple[Task, ...]
    forget: tuple[Task, ...]

    def __post_init__(self) -> None:
        if not self.retain or len(self.retain) != len(self.forget):
            raise TaskError(
                f"every task to retain needs one to forget, but {len(self.retain)} are to be "
                f"retained and {len(self.forget)} forgotten."
            )
        for kept, lost in self:
            if kept.hash == lost.hash:
                raise TaskError(f"'{kept.name}' cannot be retained and forgotten at once.")

    def __iter__(self) -> Iterator[tuple[Task, Task]]:
        return iter(zip(self.retain, self.forget, strict=True))

    @property
    def name(self) -> str:
        more = f"+{len(self.retain) - 1}-more" if len(self.retain) > 1 else ""
        return "-not-".join(side[0].name + more for side in (self.retain, self.forget))

    @property
    def hash(self) -> str:
        """SHA-256 of the contents of all tasks, in their order."""
        both = [task.hash for pair in self for task in pair]
        return hashlib.sha256(" ".join(both).encode()).hexdigest()

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(remark for pair in self for t in pair for remark in t.remarks))

    def for_tokenizer(self, tokenizer: Tokenizer | None) -> TaskPairs:
        """The pairs for a model; see `Task.for_tokenizer`."""
        return replace(
            self,
            retain=tuple(task.for_tokenizer(tokenizer) for task in self.retain),
            forget=tuple(task.for_tokenizer(tokenizer) for task in self.forget),
        )
