"""The task type: examples with prompt and target, named and hashed."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass
from functools import cached_property

from headatlas.errors import TaskError


@dataclass(frozen=True)
class Example:
    """A prompt and the text that should follow it, joined as they are."""

    prompt: str
    target: str


@dataclass(frozen=True)
class Task:
    """A named set of examples.

    `shots` are shown solved before every question, `n_shots` of them, drawn by the seed; all
    questions of one call share the same ones. `test` are the questions. A task without shots asks
    its questions as they stand.
    """

    name: str
    version: int
    description: str
    test: tuple[Example, ...]
    shots: tuple[Example, ...] = ()
    n_shots: int = 0
    separator: str = "\n\n"

    def __post_init__(self) -> None:
        if not self.test:
            raise TaskError(f"the task '{self.name}' has no examples.")
        if self.n_shots > len(self.shots):
            raise TaskError(
                f"the task '{self.name}' wants {self.n_shots} solved examples but has "
                f"{len(self.shots)}."
            )

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the content: changes when, and only when, what is asked changes."""
        content = {
            "version": self.version,
            "test": [(each.prompt, each.target) for each in self.test],
            "shots": [(each.prompt, each.target) for each in self.shots],
            "n_shots": self.n_shots,
            "separator": self.separator,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def prefix(self, seed: int) -> str:
        """The solved examples that a seed draws, as text."""
        drawn = random.Random(f"{self.hash} {seed}").sample(self.shots, self.n_shots)
        return "".join(each.prompt + each.target + self.separator for each in drawn)

    def examples(self, seed: int, limit: int | None = None) -> list[Example]:
        """The questions with their solved examples in front, the first `limit` of them."""
        prefix = self.prefix(seed)
        return [Example(prefix + each.prompt, each.target) for each in self.test[:limit]]
