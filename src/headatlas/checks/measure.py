"""What a gate matrix makes of a task on questions that no gate has seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headatlas.models.edit import Edit
from headatlas.methods.encoding import encode_examples, encode_fitting

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.tokens import Tokens
    from headatlas.tasks import Task

FloatArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Questions:
    """Questions of a split as tokens, in batches that share a prefix."""

    batches: tuple[tuple[Tokens, ...], ...]
    names: tuple[str, ...]

    @classmethod
    def of(
        cls, model: Model, task: Task, split: str, seed: int, limit: int, size: int = 16
    ) -> Questions:
        """Up to `limit` questions, drawn by the seed, each batch after its own solved examples."""
        task = task.for_tokenizer(model.tokenizer)
        batches, names = [], []
        left = limit
        for batch in task.batches(split, size, seed, epochs=1):
            used, rows = encode_fitting(model, batch[:left])
            if rows:
                batches.append(tuple(rows))
            names += [example.question for example in used]
            left -= len(batch)
            if left <= 0:
                break
        if not names:
            encode_examples(model, task, task.prompts(split, seed, limit))  # says that nothing fits
        return cls(tuple(batches), tuple(names))


@dataclass(frozen=True)
class Answers:
    """Of every question: mean log-probability of the target, and whether it was given exactly."""

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
"""Gives a piece of a check as plain data, by its name: stored from before, or computed now."""


def anew(name: str, compute: Callable[[], Any]) -> Any:
    """A piece that is computed every time."""
    return compute()


@torch.no_grad()
def answer(
    model: Model, questions: Questions, gate: Tensor | None, baseline: Tensor | None = None
) -> Answers:
    """Ask the questions under a gate matrix (layer × head), or the untouched model."""
    edit = Edit() if gate is None else Edit(gate=gate, baseline=baseline)
    scores = [model.score(batch, edit) for batch in questions.batches]
    return Answers(
        np.concatenate([each.mean().double().cpu().numpy() for each in scores]),
        np.concatenate([each.exact().cpu().numpy().astype(float) for each in scores]),
    )
