"""What is measured on every example: the quantity whose change is a head's effect.

| measure | value of an example |
|---|---|
| logprob | mean log P over the target's tokens |
| difference | log P(target) − mean log P(another choice), or (corrupted target), whole answers |
| probability | P(target), whole answer |
| accuracy | 1 if the target is the likeliest choice, or without choices what the model would say |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.methods.encoding import encode_examples
from headatlas.models.tokens import Tokens

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.run.scoring import TargetScores
    from headatlas.tasks import Example, Task

MEASURES = ("logprob", "difference", "probability", "accuracy")

COMPARED = ("difference", "accuracy")
"""Measures that compare the target with other answers, each a row of its own."""


def check_measure(name: str, *, differentiable: bool = False) -> None:
    """Raise unless there is a measure of that name, and one with a gradient if that is needed."""
    if name not in MEASURES:
        raise HeadAtlasError(f"no measure '{name}': use {', '.join(MEASURES)}.")
    if differentiable and name == "accuracy":
        raise HeadAtlasError("accuracy has no gradient: use logprob, difference or probability.")


UNCHANGED = "examples have no position that corruption changes"


@dataclass(frozen=True)
class Measured:
    """Examples with the rows that a measure needs of each: its target first, then other answers.

    `owner` is the number of the example that a row belongs to. `left_out` counts examples that do
    not fit the model's context, `without_others` those with nothing to compare the target with,
    `unchanged` those whose prompt has no token that the corruption changes.
    """

    measure: str
    examples: tuple[Example, ...]
    rows: tuple[Tokens, ...]
    owner: tuple[int, ...]
    left_out: int
    without_others: int
    unchanged: int = 0

    @classmethod
    def of(
        cls,
        model: Model,
        task: Task,
        examples: Sequence[Example],
        measure: str,
        *,
        fewest: int = 2,
    ) -> Measured:
        """Encode the examples that can be used; raises if there are fewer than two."""
        check_measure(measure)
        used: list[Example] = []
        rows: list[Tokens] = []
        owner: list[int] = []
        left_out = without_others = 0
        for example in examples:
            endings = endings_of(example, measure)
            if measure == "difference" and len(endings) == 1:
                without_others += 1
                continue
            encoded = model.encode_fitting([(example.prompt, ending) for ending in endings])
            fitting = [row for row in encoded if row is not None]
            if len(fitting) < len(endings):
                left_out += 1
                continue
            rows += fitting
            owner += [len(used)] * len(fitting)
            used.append(example)
        if not used and without_others:
            raise TaskError(
                f"'{task.name}' has no other choices and no corrupted targets to compare its "
                "targets with: use the measure logprob, probability or accuracy."
            )
        if not used:
            encode_examples(model, task, examples)  # raises: nothing fits
            raise TaskError(f"no example of '{task.name}' fits the context with all its answers.")
        if len(used) < fewest:
            raise TaskError(
                f"a map of effects needs at least {fewest} examples, but '{task.name}' has only "
                f"{len(used)} that can be used."
            )
        return cls(measure, tuple(used), tuple(rows), tuple(owner), left_out, without_others)

    @property
    def target_rows(self) -> tuple[int, ...]:
        """The number of every example's row that holds its target."""
        return tuple(self.owner.index(number) for number in range(len(self.examples)))

    def remarks(self) -> list[str]:
        """What the user should know of the examples."""
        number = len(self.examples) + self.left_out + self.without_others + self.unchanged
        remarks = []
        if self.left_out:
            remarks.append(f"{self.left_out} of {number} examples are too long and are left out")
        if self.without_others:
            remarks.append(
                f"{self.without_others} of {number} examples have no other answer to compare with "
                "and are left out"
            )
        if self.unchanged:
            remarks.append(f"{self.unchanged} of {number} {UNCHANGED} and are left out")
        return remarks

    def facts(self) -> dict[str, int]:
        """How many examples a map was measured on."""
        facts = {"examples_used": len(self.examples), "examples_too_long": self.left_out}
        without = {"examples_without_others": self.without_others} if self.without_others else {}
        without |= {"examples_unchanged": self.unchanged} if self.unchanged else {}
        rows = {"rows_used": len(self.rows)} if self.measure in COMPARED else {}
        return facts | without | rows

    def select(self, examples: Sequence[int]) -> Measured:
        """Some of the examples, by number."""
        place = {number: i for i, number in enumerate(examples)}
        kept = [i for i, owner in enumerate(self.owner) if owner in place]
        return Measured(
            self.measure,
            tuple(self.examples[number] for number in examples),
            tuple(self.rows[i] for i in kept),
            tuple(place[self.owner[i]] for i in kept),
            self.left_out,
            self.without_others,
            self.unchanged,
        )

    def only_changed(self, task: Task, changed: Sequence[bool]) -> Measured:
        """The examples whose corruption changes anything; raises if there are fewer than two."""
        kept = [number for number, is_changed in enumerate(changed) if is_changed]
        if len(kept) < 2:
            raise TaskError(
                f"{len(changed) - len(kept)} of {len(changed)} {UNCHANGED}, but a map of effects "
                "needs at least 2 that have one: use other positions, or give the task "
                f"'{task.name}' other corrupted prompts."
            )
        unchanged = self.unchanged + len(changed) - len(kept)
        return replace(self.select(kept), unchanged=unchanged)

    def values(self, scores: TargetScores) -> Tensor:
        """The measure of every example, from the scores of its rows: … × example."""
        first = list(self.target_rows)
        total = scores.total()  # … row
        if self.measure == "logprob":
            return scores.mean()[..., first]
        if self.measure == "probability":
            return total[..., first].exp()
        if self.measure == "accuracy":
            return self._right(scores, total, first)
        return total[..., first] - self._mean_of_others(total, first)

    def _mean_of_others(self, total: Tensor, first: list[int]) -> Tensor:
        owner = torch.tensor(self.owner, device=total.device)
        is_other = torch.ones(len(owner), dtype=torch.bool, device=total.device)
        is_other[first] = False
        weight = torch.zeros(len(first), len(owner), dtype=total.dtype, device=total.device)
        weight[owner[is_other], is_other.nonzero().flatten()] = 1.0
        return total @ (weight / weight.sum(-1, keepdim=True)).T

    def _right(self, scores: TargetScores, total: Tensor, first: list[int]) -> Tensor:
        exact = scores.exact()
        columns = []
        for number, example in enumerate(self.examples):
            own = [i for i, owner in enumerate(self.owner) if owner == number]
            if example.choices:
                columns.append(total[..., own].argmax(-1) == 0)
            else:
                columns.append(exact[..., first[number]])
        return torch.stack(columns, -1).to(total.dtype)


def endings_of(example: Example, measure: str) -> list[str]:
    """The target of an example, and the answers that a measure compares it with."""
    return [example.target, *_others(example, measure)]


def _others(example: Example, measure: str) -> list[str]:
    if measure in ("logprob", "probability"):
        return []
    others = [choice for choice in example.choices if choice != example.target]
    if measure == "difference" and not others and example.corrupted_target:
        return [example.corrupted_target]
    return others
