"""What the untouched model can do: accuracy, log-probability of targets, and chance."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import torch

from headatlas.errors import TaskError
from headatlas.stats.clustered import mean_se, mean_interval, share_interval
from headatlas.models.tokens import Tokens, common_prefix

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.tasks import Example, Task

FloatArray = np.ndarray[Any, Any]

SIZE = 16
"""Questions after one prefix."""

PASS_COST = 32
"""What a pass of its own costs, in tokens."""


@dataclass(frozen=True)
class Baseline:
    """A model on a task, with 95 % intervals.

    `accuracy` is the share of examples whose target is the likeliest of their choices (as a whole)
    or, without choices, the model's own first words. `chance` is what guessing reaches: one of the
    choices, or always the commonest target of the task. `gain` is how much likelier the targets are
    than the shuffled targets of other examples (of the same function, where there are functions).
    Intervals allow for examples of one question being alike.
    """

    task: str
    task_hash: str
    measure: str
    examples: int
    too_long: int
    accuracy: float
    accuracy_low: float
    accuracy_high: float
    chance: float
    logprob: float
    shuffled_logprob: float
    gain_low: float
    gain_high: float

    @property
    def gain(self) -> float:
        return self.logprob - self.shuffled_logprob

    @property
    def above_chance(self) -> bool:
        """Whether the model does the task, by the task's own measure, with 95 % confidence."""
        if self.measure == "logprob":
            return self.gain_low > 0
        return self.accuracy_low > self.chance

    def warning(self) -> str | None:
        """What every map of the task should say."""
        if self.above_chance:
            return None
        if self.measure == "logprob":
            found = f"targets are {self.gain:+.2f} nats likelier than shuffled ones"
        else:
            found = f"accuracy {self.accuracy:.0%}, chance {self.chance:.0%}"
        return f"at chance level on this task: {found}, {self.examples} examples"


_known: WeakKeyDictionary[Model, dict[tuple[str, str, int, int | None], Baseline]] = (
    WeakKeyDictionary()
)


def measure_baseline(
    model: Model,
    task: Task,
    *,
    split: str = "test",
    seed: int = 0,
    limit: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Baseline:
    """Ask the untouched model the questions of a split, or `limit` of them drawn by the seed.

    A model is asked the same only once; `progress` is told how many questions were done.
    """
    task = task.for_tokenizer(model.tokenizer)
    key = (task.hash, split, seed, limit)
    known = _known.setdefault(model, {})
    if key not in known:
        known[key] = _measure(model, task, split, seed, limit, progress)
    elif progress is not None:
        progress(known[key].examples + known[key].too_long)
    return replace(known[key], task=task.name)


def _measure(
    model: Model,
    task: Task,
    split: str,
    seed: int,
    limit: int | None,
    progress: Callable[[int], None] | None,
) -> Baseline:
    batches = list(_take(task.batches(split, SIZE, seed, epochs=1), limit))
    asked = [example for batch in batches for example in batch]
    controls = iter(_shuffle(asked, random.Random(f"{task.hash} {seed} shuffled")))
    found: list[_Answer] = []
    for batch in batches:
        found += _answer(model, [(example, next(controls)) for example in batch])
        if progress is not None:
            progress(len(batch))
    if not found:
        raise TaskError(f"no question of '{task.name}' fits the context of {model.spec.name}.")
    questions = [answer.question for answer in found]
    right = np.array([answer.right for answer in found], float)
    gains = np.array([answer.logprob - answer.shuffled for answer in found])
    low, high = _share_interval(right, questions)
    gain_low, gain_high = mean_interval(gains, questions)
    return Baseline(
        task=task.name,
        task_hash=task.hash,
        measure=task.measure,
        examples=len(found),
        too_long=len(asked) - len(found),
        accuracy=float(right.mean()),
        accuracy_low=low,
        accuracy_high=high,
        chance=_chance(task, asked),
        logprob=float(np.mean([answer.logprob for answer in found])),
        shuffled_logprob=float(np.mean([answer.shuffled for answer in found])),
        gain_low=gain_low,
        gain_high=gain_high,
    )


def _take(batches: Iterator[list[Example]], limit: int | None) -> Iterator[list[Example]]:
    taken = 0
    for batch in batches:
        yield batch if limit is None else batch[: limit - taken]
        taken += len(batch)
        if limit is not None and taken >= limit:
            return


def _shuffle(asked: Sequence[Example], chance: random.Random) -> list[str | None]:
    """For every question the target of another one: of the same function, and not the same text."""
    order = chance.sample(range(len(asked)), len(asked))
    place = {index: at for at, index in enumerate(order)}

    def other(index: int) -> str | None:
        own = asked[index]
        later = (asked[order[(place[index] + step) % len(order)]] for step in range(1, len(order)))
        elsewhere = None
        for each in later:
            if each.target != own.target:
                if each.function == own.function:
                    return each.target
                elsewhere = elsewhere or each.target
        return elsewhere

    return [other(index) for index in range(len(asked))]


def _chance(task: Task, asked: Sequence[Example]) -> float:
    """What guessing reaches: one of the choices at random, or always the commonest target."""
    targets = Counter(each.target for split in task.splits.values() for each in split)
    commonest = max(targets.values()) / targets.total()
    guessed = float(np.mean([1 / len(each.choices) if each.choices else 0.0 for each in asked]))
    return max(commonest, guessed)


@dataclass(frozen=True)
class _Answer:
    """What the model made of one question."""

    question: str
    right: bool
    logprob: float
    shuffled: float


def _answer(model: Model, batch: Sequence[tuple[Example, str | None]]) -> list[_Answer]:
    """Answers to the questions of a batch that fit the model's context."""
    examples, rows = [], []
    for example, control in batch:
        endings = [example.target, *(each for each in example.choices if each != example.target)]
        encoded = [model.encode(example.prompt, end) for end in [*endings, control] if end]
        limit = model.spec.context
        if limit is None or max(map(len, encoded)) <= limit:
            examples.append((example, control))
            rows.append(encoded)
    answers = []
    for (example, control), scores in zip(examples, _scores(model, rows), strict=True):
        total, mean, exact = scores
        choices = total[: len(example.choices)]
        right = bool(choices.argmax() == 0) if example.choices else exact
        shuffled = float(mean[-1]) if control is not None else math.nan
        answers.append(_Answer(example.question, right, float(mean[0]), shuffled))
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
    total = torch.cat([result.total() for result in results]).double().cpu().numpy()
    mean = torch.cat([result.mean() for result in results]).double().cpu().numpy()
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


def _share_interval(right: FloatArray, questions: Sequence[str]) -> tuple[float, float]:
    """Wilson interval of a share, for as many examples as the questions are worth."""
    share, count = float(right.mean()), float(len(set(questions)))
    error = mean_se(right, questions)
    if 0 < share < 1 and error > 0:
        worth = share * (1 - share) / error**2
        count = min(max(worth, count), float(len(right)))
    return share_interval(share, count)
