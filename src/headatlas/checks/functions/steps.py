"""Steps of questions, and how well a model answers them under an edit."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from headatlas.checks.measure import Answers
from headatlas.errors import TaskError
from headatlas.methods.encoding import encode_fitting
from headatlas.models.edit import Edit

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.tokens import Tokens
    from headatlas.tasks import Example, Task

QUESTIONS_PER_PASS = 16

PREFIXES = 16
"""Number of prefixes of demonstrations, each before a part of the questions."""


@dataclass(frozen=True)
class Steps:
    """Labelled examples as tokens, with the questions that they are steps of, and the names of the
    prefixes of demonstrations that they follow (none for prompts without demonstrations)."""

    rows: tuple[Tokens, ...]
    functions: tuple[str, ...]
    questions: tuple[str, ...]
    prefixes: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        model: Model,
        task: Task,
        functions: tuple[str, ...],
        limit: int | None = None,
        seed: int = 0,
        split: str = "test",
    ) -> Steps:
        """The steps of up to `limit` questions of a split, drawn by the seed."""
        task = task.for_tokenizer(model.tokenizer)
        prefixes, examples = _sample(task, split, functions, limit, seed)
        used, rows = encode_fitting(model, examples)
        for name in functions:
            count = len({example.question for example in used if example.function == name})
            if count < 2:
                raise TaskError(
                    f"'{name}' has only {count} of the sampled {split} questions of "
                    f"'{task.name}', too few to measure: use more questions (--questions)."
                )
        return cls(
            tuple(rows),
            tuple(str(example.function) for example in used),
            tuple(example.question for example in used),
            tuple(prefixes[example.question] for example in used) if task.form.shots else (),
        )

    @property
    def clusters(self) -> tuple[str, ...]:
        """What groups steps that are not independent: their prefixes if they have some, which hold
        several questions each, otherwise their questions."""
        return self.prefixes or self.questions

    def at(self, *functions: str) -> list[int]:
        """The numbers of the steps that need one of the functions."""
        return [i for i, function in enumerate(self.functions) if function in functions]

    def only(self, *functions: str) -> Steps:
        """The steps that need one of the functions."""
        kept = self.at(*functions)
        return Steps(
            tuple(self.rows[i] for i in kept),
            tuple(self.functions[i] for i in kept),
            tuple(self.questions[i] for i in kept),
            tuple(self.prefixes[i] for i in kept) if self.prefixes else (),
        )

    def batches(self) -> list[list[int]]:
        """Numbers of steps to score together: whole questions, of one prefix."""
        groups: dict[str, dict[str, list[int]]] = {}
        for number, question in enumerate(self.questions):
            prefix = self.prefixes[number] if self.prefixes else ""
            groups.setdefault(prefix, {}).setdefault(question, []).append(number)
        return [
            [number for question in questions[start : start + QUESTIONS_PER_PASS]
             for number in question]
            for questions in (list(group.values()) for group in groups.values())
            for start in range(0, len(questions), QUESTIONS_PER_PASS)
        ]  # fmt: skip


def _sample(
    task: Task, split: str, functions: Sequence[str], limit: int | None, seed: int
) -> tuple[dict[str, str], list[Example]]:
    """Some questions' labelled examples, in parts that follow a prefix each, and the prefix of
    every question."""
    labelled = [example for example in task.split(split) if example.function in functions]
    names = list(dict.fromkeys(example.question for example in labelled))
    rng = random.Random(f"{task.questions_hash} steps {seed}")
    kept = rng.sample(names, min(limit or len(names), len(names)))
    prefixes: dict[str, str] = {}
    examples: list[Example] = []
    number = PREFIXES if task.form.shots else 1
    for draw in range(number):
        part = set(kept[draw::number])
        prompts = task.prompts(split, seed=draw)
        # prompts differ between draws only in their prefix: equal ones are one cluster
        prefixes |= dict.fromkeys(part, prompts[0].prompt)
        examples += [e for e in prompts if e.question in part and e.function in functions]
    return prefixes, examples


Answering = Callable[[str, Steps, Edit], Answers]
"""Answers steps under an edit; the name identifies the pass among all passes of a check."""


@torch.no_grad()
def answer_steps(model: Model, steps: Steps, edit: Edit) -> Answers:
    """Score all steps, several questions per pass: later steps start with the earlier ones."""
    logprob, exact = np.zeros(len(steps.rows)), np.zeros(len(steps.rows))
    for numbers in steps.batches():
        scores = model.score([steps.rows[number] for number in numbers], edit)
        logprob[numbers] = scores.mean().cpu().double().numpy()
        exact[numbers] = scores.exact().cpu().double().numpy()
    return Answers(logprob, exact)
