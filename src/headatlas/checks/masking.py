"""Do a function's heads matter for it? Mask them, and as many random ones, and ask."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headatlas.checks.controls import Head, matched_heads
from headatlas.maps.spread import mean_error, mean_interval
from headatlas.models.edit import Edit, remove_heads
from headatlas.tasks.encoded import encode_fitting

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.tokens import Tokens
    from headatlas.tasks import Task

FloatArray = np.ndarray[Any, Any]
Report = Callable[[str], None]

QUESTIONS_A_PASS = 16


@dataclass(frozen=True)
class Steps:
    """Labelled examples as tokens, with the questions that they are steps of."""

    rows: tuple[Tokens, ...]
    functions: tuple[str, ...]
    questions: tuple[str, ...]

    @classmethod
    def of(cls, model: Model, task: Task, split: str = "test") -> Steps:
        task = task.for_tokenizer(model.tokenizer)
        used, rows = encode_fitting(model, [each for each in task.ask(split) if each.function])
        return cls(
            tuple(rows), tuple(str(e.function) for e in used), tuple(e.question for e in used)
        )

    def of_function(self, name: str) -> Steps:
        """The steps that need one function."""
        kept = [i for i, function in enumerate(self.functions) if function == name]
        return Steps(
            tuple(self.rows[i] for i in kept),
            tuple(self.functions[i] for i in kept),
            tuple(self.questions[i] for i in kept),
        )


@dataclass(frozen=True)
class Answered:
    """Of every step: mean log-probability of its answer, and whether it was given exactly."""

    logprob: FloatArray
    exact: FloatArray


@torch.no_grad()
def answer_steps(model: Model, steps: Steps, edit: Edit | None = None) -> Answered:
    """Ask all steps, several questions in a pass: later steps start with the earlier ones."""
    logprob, exact = np.zeros(len(steps.rows)), np.zeros(len(steps.rows))
    by_question: dict[str, list[int]] = {}
    for number, question in enumerate(steps.questions):
        by_question.setdefault(question, []).append(number)
    asked = list(by_question.values())
    for start in range(0, len(asked), QUESTIONS_A_PASS):
        numbers = [n for each in asked[start : start + QUESTIONS_A_PASS] for n in each]
        scores = model.score([steps.rows[n] for n in numbers], edit or Edit())
        logprob[numbers] = scores.mean().double().cpu().numpy()
        exact[numbers] = scores.exact().double().cpu().numpy()
    return Answered(logprob, exact)


@dataclass(frozen=True)
class Masked:
    """What masking a function's top heads does to it, against layer-matched random heads.

    `chosen` and `control` are changes of the mean log-probability of the function's answers, in
    nats a token; the interval of their difference is over questions and over random draws.
    """

    function: str
    heads: int
    chosen: float
    control: float
    difference: float
    low: float
    high: float
    accuracy: float
    accuracy_chosen: float
    accuracy_control: float
    examples: int
    draws: int

    @property
    def holds(self) -> bool | None:
        """Whether the chosen heads matter more than random ones; `None` if it cannot be told."""
        if self.high < 0:
            return True
        return False if self.low > 0 else None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"holds": self.holds}


def mask_heads(
    model: Model,
    steps: Steps,
    function: str,
    heads: Sequence[Head],
    *,
    draws: int,
    seed: int = 0,
    report: Report | None = None,
) -> Masked:
    """Mask a function's heads (gate 0 at all positions), then `draws` times random others."""
    own = steps.of_function(function)
    chance = random.Random(f"{seed} {function} {len(heads)}")
    before = answer_steps(model, own)
    chosen = answer_steps(model, own, remove_heads(model.spec, heads))
    controls = []
    for number in range(draws):
        drawn = matched_heads(heads, list(model.spec.heads()), chance)
        controls.append(answer_steps(model, own, remove_heads(model.spec, drawn)))
        if report is not None:
            report(f"{function}, {len(heads)} heads, draw {number + 1}/{draws}")
    changes = np.stack([each.logprob - before.logprob for each in controls])
    own_change = chosen.logprob - before.logprob
    difference = own_change - changes.mean(0)
    low, high = paired_interval(difference, own.questions, changes.mean(1))
    return Masked(
        function=function,
        heads=len(heads),
        chosen=float(own_change.mean()),
        control=float(changes.mean()),
        difference=float(difference.mean()),
        low=low,
        high=high,
        accuracy=float(before.exact.mean()),
        accuracy_chosen=float(chosen.exact.mean()),
        accuracy_control=float(np.mean([each.exact.mean() for each in controls])),
        examples=len(own.rows),
        draws=draws,
    )


def paired_interval(
    difference: FloatArray, questions: Sequence[str], draws: FloatArray
) -> tuple[float, float]:
    """95 % interval of a mean difference over questions, whose control varies over draws too.

    The two variances add up; the degrees of freedom are Welch's.
    """
    from scipy.stats import t

    parts = [(mean_error(difference, questions), len(set(questions)) - 1)]
    if len(draws) > 1:
        parts.append((float(draws.std(ddof=1)) / math.sqrt(len(draws)), len(draws) - 1))
    variance = sum(error**2 for error, _ in parts)
    mean = float(difference.mean())
    if not variance > 0:
        return mean, mean
    freedom = variance**2 / sum(error**4 / count for error, count in parts)
    reach = float(t.ppf(0.975, freedom)) * math.sqrt(variance)
    return mean - reach, mean + reach


@dataclass(frozen=True)
class Specificity:
    """Changes of every function's answers when another function's heads are masked.

    `change[a][b]`: mask the heads of a, measure b; nats a token, with 95 % intervals over
    questions.
    """

    functions: tuple[str, ...]
    heads: tuple[int, ...]
    change: list[list[float]]
    low: list[list[float]]
    high: list[list[float]]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def specificity(
    model: Model,
    steps: Steps,
    chosen: dict[str, Sequence[Head]],
    report: Report | None = None,
) -> Specificity:
    """Mask the heads of each function, measure all."""
    names = tuple(chosen)
    before = answer_steps(model, steps)
    labels, questions = np.array(steps.functions), np.array(steps.questions)
    tables: dict[str, list[list[float]]] = {"change": [], "low": [], "high": []}
    for name, heads in chosen.items():
        after = answer_steps(model, steps, remove_heads(model.spec, heads))
        change = after.logprob - before.logprob
        rows: dict[str, list[float]] = {"change": [], "low": [], "high": []}
        for other in names:
            at = labels == other
            low, high = mean_interval(change[at], questions[at].tolist())
            for key, value in (("change", float(change[at].mean())), ("low", low), ("high", high)):
                rows[key].append(value)
        for key, row in rows.items():
            tables[key].append(row)
        if report is not None:
            report(f"masking {name}")
    counts = tuple(len(heads) for heads in chosen.values())
    return Specificity(names, counts, tables["change"], tables["low"], tables["high"])


@dataclass(frozen=True)
class Strengthened:
    """What shifting a function's heads along its direction does to its answers."""

    function: str
    heads: int
    strength: float
    change: float
    low: float
    high: float
    accuracy: float
    accuracy_after: float

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def strengthen(
    model: Model,
    steps: Steps,
    function: str,
    direction: Tensor,
    strengths: Sequence[float],
    report: Report | None = None,
) -> list[Strengthened]:
    """Add multiples of the direction (layer × head × d_head; zero but at the function's heads)."""
    own = steps.of_function(function)
    before = answer_steps(model, own)
    heads = int(direction.abs().sum(-1).gt(0).sum())
    found = []
    for strength in strengths:
        after = answer_steps(model, own, Edit(shift=strength * direction))
        change = after.logprob - before.logprob
        low, high = mean_interval(change, own.questions)
        found.append(
            Strengthened(
                function,
                heads,
                strength,
                float(change.mean()),
                low,
                high,
                float(before.exact.mean()),
                float(after.exact.mean()),
            )
        )
        if report is not None:
            report(f"{function}, strength {strength:g}")
    return found
