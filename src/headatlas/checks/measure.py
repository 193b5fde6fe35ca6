"""How a model answers questions under a gate matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headatlas.methods.encoding import encode_examples, encode_fitting
from headatlas.models.edit import Edit
from headatlas.stats.arrays import FloatArray

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.tokens import Tokens
    from headatlas.tasks import Task


PER_PREFIX = 4
"""Questions after one few-shot prefix: more of them would say little that is new."""


@dataclass(frozen=True)
class Questions:
    """Questions of a split as tokens, in batches that share a prefix."""

    batches: tuple[tuple[Tokens, ...], ...]
    names: tuple[str, ...]

    @classmethod
    def of(
        cls, model: Model, task: Task, split: str, seed: int, limit: int, size: int = 16
    ) -> Questions:
        """Up to `limit` questions, drawn by the seed; each batch has its own demonstrations."""
        task = task.for_tokenizer(model.tokenizer)
        batches, names = [], []
        remaining = limit
        for batch in task.batches(split, size, seed, epochs=1):
            used, rows = encode_fitting(model, batch[:remaining])
            if rows:
                batches.append(tuple(rows))
            names += [example.question for example in used]
            remaining -= len(batch)
            if remaining <= 0:
                break
        if not names:
            encode_examples(model, task, task.prompts(split, seed, limit))  # raises: nothing fits
        return cls(tuple(batches), tuple(names))

    @property
    def prefixes(self) -> tuple[int, ...]:
        """The number of every question's prefix, that is of its batch."""
        return tuple(number for number, batch in enumerate(self.batches) for _ in batch)

    def first(self, prefixes: int) -> Questions:
        """The questions after the first few prefixes."""
        batches = self.batches[:prefixes]
        return Questions(batches, self.names[: sum(map(len, batches))])


@dataclass(frozen=True)
class Answers:
    """Mean log-probability of every question's target, and whether the model gives it exactly."""

    logprob: FloatArray
    exact: FloatArray

    def at(self, numbers: list[int]) -> Answers:
        """The answers to some of the questions."""
        return Answers(self.logprob[numbers], self.exact[numbers])

    def as_dict(self) -> dict[str, list[float]]:
        return {"logprob": self.logprob.tolist(), "exact": self.exact.tolist()}

    @classmethod
    def from_dict(cls, stored: dict[str, list[float]]) -> Answers:
        """What `as_dict` has stored."""
        return cls(np.array(stored["logprob"]), np.array(stored["exact"]))


Keep = Callable[[str, Callable[[], Any]], Any]
"""Gives a named piece of a check as plain data: stored from before, or computed and kept."""

Report = Callable[[int, str], None]
"""Called with the number of steps just finished and a few words on them."""


def compute_always(name: str, compute: Callable[[], Any]) -> Any:
    """A `Keep` that keeps nothing."""
    return compute()


def no_report(steps: int, words: str) -> None:
    """A `Report` that nobody reads."""


def per_prefix(questions: int) -> int:
    """How many questions follow one prefix: few enough that there are several prefixes.

    >>> [per_prefix(count) for count in (2, 8, 32)]
    [1, 2, 4]
    """
    return min(PER_PREFIX, max(1, questions // 4))


def answer_as_dict(
    model: Model, questions: Questions, gate: Tensor | None, replacement: Tensor | None = None
) -> dict[str, list[float]]:
    """What `answer` gives, as plain data to be kept."""
    return answer(model, questions, gate, replacement).as_dict()


@torch.no_grad()
def answer(
    model: Model, questions: Questions, gate: Tensor | None, replacement: Tensor | None = None
) -> Answers:
    """Score the questions under a gate matrix (layer × head), or with the untouched model."""
    edit = Edit() if gate is None else Edit(gate=gate, replacement=replacement)
    scores = [model.score(batch, edit) for batch in questions.batches]
    return Answers(
        np.concatenate([score.mean().cpu().double().numpy() for score in scores]),
        np.concatenate([score.exact().cpu().numpy().astype(float) for score in scores]),
    )
