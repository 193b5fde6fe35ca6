"""What a model makes of questions: how likely their targets, choices and shuffled targets are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from headatlas.models.tokens import Tokens, common_prefix
from headatlas.stats.arrays import FloatArray

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.tasks import Example


PASS_COST = 32
"""The overhead of a separate pass, in tokens."""


@dataclass(frozen=True)
class Answer:
    """What the model made of one question, and how many tokens that took."""

    question: str
    right: bool
    logprob: float
    shuffled: float
    tokens: int


def answer_endings(model: Model, batch: Sequence[tuple[Example, str | None]]) -> list[Answer]:
    """Answers to the questions of a batch that fit the model's context.

    Each comes with the target of another question, its control, or `None` if there is none.
    """
    examples, rows = [], []
    for example, control in batch:
        endings = [
            example.target,
            *(choice for choice in example.choices if choice != example.target),
        ]
        texts = [(example.prompt, end) for end in [*endings, control] if end]
        encoded = [tokens for tokens in model.encode_fitting(texts) if tokens is not None]
        if len(encoded) == len(texts):
            examples.append((example, control))
            rows.append(encoded)
    answers = []
    for (example, control), encoded, scores in zip(
        examples, rows, _scores(model, rows), strict=True
    ):
        total, mean, exact = scores
        choices = total[: len(example.choices)]
        right = bool(choices.argmax() == 0) if example.choices else exact
        shuffled = float(mean[-1]) if control is not None else math.nan
        tokens = sum(map(len, encoded))
        answers.append(Answer(example.question, right, float(mean[0]), shuffled, tokens))
    return answers


Scores = tuple[FloatArray, FloatArray, bool]
"""Of the endings of a question: whole and mean log-probability; whether the first is exact."""


@torch.no_grad()
def _scores(model: Model, questions: Sequence[Sequence[Tokens]]) -> Iterator[Scores]:
    """Score all endings of all questions; share the batch's prefix or each prompt, what is less."""
    flat = [row for rows in questions for row in rows]
    if not flat:
        return
    own = sum(PASS_COST + _cost(rows) for rows in questions)
    together = own >= _cost(flat) or not model.continues_from_cache
    results = [model.score(flat)] if together else [model.score(rows) for rows in questions]
    total = torch.cat([result.total() for result in results]).cpu().double().numpy()
    mean = torch.cat([result.mean() for result in results]).cpu().double().numpy()
    exact = torch.cat([result.exact() for result in results]).cpu().numpy()
    start = 0
    for rows in questions:
        stop = start + len(rows)
        yield total[start:stop], mean[start:stop], bool(exact[start])
        start = stop


def _cost(rows: Sequence[Tokens]) -> int:
    """Tokens to run when what the rows share runs once."""
    shared = common_prefix([row.ids for row in rows])
    return shared + sum(len(row) - shared for row in rows)
