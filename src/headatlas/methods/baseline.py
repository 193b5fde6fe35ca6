"""The baseline of a task: what the untouched model scores on it, and what chance gives."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headatlas.errors import TaskError
from headatlas.methods.endings import Answer, answer_endings
from headatlas.stats.ability import (
    ACCURACY_ROOM,
    GAIN_ROOM,
    Ability,
    ability_by_accuracy,
    ability_by_gain,
)
from headatlas.stats.clustered import mean_interval
from headatlas.stats.intervals import clustered_share_interval

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.tasks import Example, Task

QUESTIONS_PER_PREFIX = 4
"""Questions that follow the same demonstrations: few, since they are not independent."""

QUESTIONS, TOKENS = 64, 40_000
"""How many questions, and about how many tokens, decide whether a map warns that the model may not
be able to do its task."""

GUESSABLE = 0.1
"""From this share of questions on that one answer fits, right answers are counted: where answers
can be guessed, being likelier than another question's answer does not show that one is known."""

ACCURACY_MARGIN, GAIN_MARGIN = 0.05, 0.05
"""Equivalence margins: a task is at chance level if its interval ends within this much of chance
(share of examples; nats per token)."""

UNCLEAR = "above chance, but not shown to be right often enough for a map"

Progress = Callable[[int], None]
"""Called with the number of questions that were just done."""


@dataclass(frozen=True)
class Baseline:
    """A model on a task, with 95 % intervals.

    `accuracy` is the share of examples whose target is the likeliest of their choices (as a whole)
    or, without choices, exactly what the model would say. `chance` is what guessing reaches: one of
    the choices, or always the most common target. `gain` is how much likelier the targets
    are than shuffled targets of other examples (of the same function, where there are functions).
    Intervals count examples of one question, and questions after the same demonstrations, as one
    cluster.

    >>> measure_baseline(model, task).accuracy_low  # doctest: +SKIP
    0.61
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
        """How many nats per token the targets are likelier than shuffled ones."""
        return self.logprob - self.shuffled_logprob

    @property
    def by_gain(self) -> bool:
        """Whether the gain decides what the model can do, and not the accuracy: for tasks that say
        so, unless an answer is so common that it can be guessed."""
        return self.measure == "logprob" and self.chance < GUESSABLE

    @property
    def ability(self) -> Ability:
        """What the model can do, by the task's own measure; see `headatlas.stats.ability`."""
        if self.by_gain:
            return ability_by_gain(self.gain_low)
        return ability_by_accuracy(self.accuracy_low, self.chance)

    @property
    def can_do(self) -> bool:
        """Whether the model does the task well enough to map it: only then a map has no warning."""
        return self.ability is Ability.CAN_DO

    @property
    def above_chance(self) -> bool:
        """Whether the model does better than chance, with 95 % confidence."""
        return self.ability is not Ability.NOT_ABOVE

    @property
    def at_chance(self) -> bool:
        """Whether the model is shown to be no better than chance, within a small margin."""
        if self.above_chance:
            return False
        if self.by_gain:
            return self.gain_high <= GAIN_MARGIN
        return self.accuracy_high <= self.chance + ACCURACY_MARGIN

    @property
    def too_rarely_right(self) -> bool:
        """Whether the model is above chance by too little; not only the lower bound is small."""
        if self.ability is not Ability.TOO_RARELY:
            return False
        if self.by_gain:
            return self.gain < GAIN_ROOM
        return self.accuracy < self.chance + ACCURACY_ROOM

    @property
    def verdict(self) -> str:
        """The ability in a few words, and whether more questions could change it."""
        if self.can_do:
            return self.ability.value
        if self.above_chance:
            unclear = f"{UNCLEAR} (n = {self.examples})"
            return self.ability.value if self.too_rarely_right else unclear
        if self.at_chance:
            below = not self.by_gain and self.accuracy_high < self.chance
            return "below chance" if below else "at chance level"
        return f"not shown to be above chance (n = {self.examples})"

    def warning(self) -> str | None:
        """What every map of the task should say, unless the model can do it."""
        if self.can_do:
            return None
        if self.by_gain:
            evidence = f"targets are {self.gain:+.2f} nats per token likelier than shuffled ones"
        else:
            evidence = f"accuracy {self.accuracy:.0%}, chance {self.chance:.0%}"
        count = "" if "n = " in self.verdict else f", {self.examples} examples"
        return f"{self.verdict} on this task: {evidence}{count}"

    def facts(self) -> dict[str, Any]:
        """Entries for the provenance of maps of this task."""
        facts: dict[str, Any] = {"task_accuracy": self.accuracy, "task_chance": self.chance}
        return facts | ({"task_warning": self.warning()} if self.warning() else {})

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as it is stored."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Baseline:
        """The baseline that `as_dict` gave."""
        return cls(**stored)


def measure_baseline(
    model: Model,
    task: Task,
    *,
    split: str = "test",
    seed: int = 0,
    limit: int | None = None,
    max_tokens: int | None = None,
    progress: Progress | None = None,
) -> Baseline:
    """Give the untouched model the questions of a split, or `limit` of them drawn by the seed.

    With `max_tokens`, it stops before the questions exceed about that many tokens (the tokens of
    every choice count; a shared prefix counts for every question), but not before the first.

    >>> measure_baseline(model, load_task("antonym"), limit=32).verdict  # doctest: +SKIP
    'can do'
    """
    if limit is not None and limit < 1:
        raise TaskError(f"a limit of {limit} questions leaves none.")
    task = task.for_tokenizer(model.tokenizer)
    return _measure(model, task, split, seed, limit, max_tokens, progress)


def _measure(
    model: Model,
    task: Task,
    split: str,
    seed: int,
    limit: int | None,
    max_tokens: int | None,
    progress: Progress | None,
) -> Baseline:
    batches = list(_take(task.batches(split, QUESTIONS_PER_PREFIX, seed, epochs=1), limit))
    everything = [example for batch in batches for example in batch]
    controls = iter(_shuffle(everything, random.Random(f"{task.hash} {seed} shuffled")))
    all_answers: list[Answer] = []
    prefixes: list[str] = []
    examples: list[Example] = []
    tokens = 0
    for number, batch in enumerate(batches):
        if max_tokens is not None and tokens >= max_tokens:
            break
        used = batch if max_tokens is None else _within(model, batch, max_tokens - tokens)
        answers = answer_endings(model, [(example, next(controls)) for example in used])
        all_answers += answers
        prefixes += [str(number)] * len(answers)
        examples += used
        tokens += sum(answer.tokens for answer in answers)
        if progress is not None:
            progress(len(used))
        if len(used) < len(batch):  # the next control belongs to the question after these
            break
    if progress is not None and len(examples) < len(everything):
        progress(len(everything) - len(examples))
    if not all_answers:
        raise TaskError(f"no question of '{task.name}' fits the context of {model.spec.name}.")
    groupings = [[answer.question for answer in all_answers]]
    if task.form.shots:
        groupings.append(prefixes)
    right = np.array([answer.right for answer in all_answers], float)
    gains = np.array([answer.logprob - answer.shuffled for answer in all_answers])
    low, high = _widest(clustered_share_interval(right, clusters) for clusters in groupings)
    gain_low, gain_high = _widest(mean_interval(gains, clusters) for clusters in groupings)
    return Baseline(
        task=task.name,
        task_hash=task.hash,
        measure=task.measure,
        examples=len(all_answers),
        too_long=len(examples) - len(all_answers),
        accuracy=float(right.mean()),
        accuracy_low=low,
        accuracy_high=high,
        chance=_chance(task, split),
        logprob=float(np.mean([answer.logprob for answer in all_answers])),
        shuffled_logprob=float(np.mean([answer.shuffled for answer in all_answers])),
        gain_low=gain_low,
        gain_high=gain_high,
    )


def _widest(intervals: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """From the lowest lower bound to the highest upper one: examples may fall into clusters in more
    than one way. Where one interval is unknown (NaN), so is the widest."""
    lows, highs = zip(*intervals, strict=True)
    return float(np.min(lows)), float(np.max(highs))


def _take(batches: Iterator[list[Example]], limit: int | None) -> Iterator[list[Example]]:
    taken = 0
    for batch in batches:
        yield batch if limit is None else batch[: limit - taken]
        taken += len(batch)
        if limit is not None and taken >= limit:
            return


def _within(model: Model, batch: list[Example], max_tokens: int) -> list[Example]:
    """The first questions of a batch that fit a number of tokens; at least one."""
    count = 0
    for number, example in enumerate(batch):
        endings = max(2, len(example.choices) + 1)  # the target or the choices, and a shuffled one
        count += endings * len(model.encode(example.prompt, example.target))
        if count > max_tokens:
            return batch[: max(1, number)]
    return batch


def _shuffle(examples: Sequence[Example], rng: random.Random) -> list[str | None]:
    """For every question the target of another one: of the same function, and not the same text."""
    order = rng.sample(range(len(examples)), len(examples))
    place = {index: at for at, index in enumerate(order)}

    def other(index: int) -> str | None:
        own = examples[index]
        later = (
            examples[order[(place[index] + step) % len(order)]] for step in range(1, len(order))
        )
        elsewhere = None
        for example in later:
            if example.target != own.target:
                if example.function == own.function:
                    return example.target
                elsewhere = elsewhere or example.target
        return elsewhere

    return [other(index) for index in range(len(examples))]


def _chance(task: Task, split: str) -> float:
    """What guessing reaches: one of the choices at random, or always the most common target.

    Over the whole split, not the questions that were drawn: a task's own figure, whatever the seed.
    """
    choices = [example.choices for example in task.splits[split]]
    guessed = float(np.mean([1 / len(some) if some else 0.0 for some in choices]))
    return max(most_common_share(task), guessed)


def most_common_share(task: Task) -> float:
    """The share of the task's most common target: what always saying it reaches."""
    targets = Counter(example.target for split in task.splits.values() for example in split)
    return max(targets.values()) / targets.total()
