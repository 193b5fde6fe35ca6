"""Steps of questions, and how well a model answers them under an edit."""

from __future__ import annotations

import random
from collections.abc import Callable
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
    from headatlas.tasks import Task

QUESTIONS_PER_PASS = 16


@dataclass(frozen=True)
class Steps:
    """Labelled examples as tokens, with the questions that they are steps of."""

    rows: tuple[Tokens, ...]
    functions: tuple[str, ...]
    questions: tuple[str, ...]

    @classmethod
    def of(
        cls,
        model: Model,
        task: Task,
        functions: tuple[str, ...],
        limit: int | None = None,
        seed: int = 0,
    ) -> Steps:
        """The test steps of up to `limit` questions, drawn by the seed."""
        task = task.for_tokenizer(model.tokenizer)
        examples = [each for each in task.prompts("test") if each.function in functions]
        names = list(dict.fromkeys(each.question for each in examples))
        rng = random.Random(f"{task.questions_hash} steps {seed}")
        kept = set(rng.sample(names, min(limit or len(names), len(names))))
        used, rows = encode_fitting(model, [each for each in examples if each.question in kept])
        for name in functions:
            count = len({each.question for each in used if each.function == name})
            if count < 2:
                raise TaskError(
                    f"'{name}' has only {count} of the sampled test questions of '{task.name}', "
                    "too few to measure: use more questions (--questions)."
                )
        return cls(
            tuple(rows), tuple(str(e.function) for e in used), tuple(e.question for e in used)
        )

    def at(self, *functions: str) -> list[int]:
        """The numbers of the steps that need one of the functions."""
        return [i for i, function in enumerate(self.functions) if function in functions]

    def only(self, function: str) -> Steps:
        """The steps that need one function."""
        kept = self.at(function)
        return Steps(
            tuple(self.rows[i] for i in kept),
            tuple(self.functions[i] for i in kept),
            tuple(self.questions[i] for i in kept),
        )


Answering = Callable[[str, Steps, Edit], Answers]
"""Answers steps under an edit; the name identifies the pass among all passes of a check."""


@torch.no_grad()
def answer_steps(model: Model, steps: Steps, edit: Edit) -> Answers:
    """Score all steps, several questions per pass: later steps start with the earlier ones."""
    logprob, exact = np.zeros(len(steps.rows)), np.zeros(len(steps.rows))
    by_question: dict[str, list[int]] = {}
    for number, question in enumerate(steps.questions):
        by_question.setdefault(question, []).append(number)
    groups = list(by_question.values())
    for start in range(0, len(groups), QUESTIONS_PER_PASS):
        numbers = [n for group in groups[start : start + QUESTIONS_PER_PASS] for n in group]
        scores = model.score([steps.rows[n] for n in numbers], edit)
        logprob[numbers] = scores.mean().double().cpu().numpy()
        exact[numbers] = scores.exact().double().cpu().numpy()
    return Answers(logprob, exact)
