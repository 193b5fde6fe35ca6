"""Ablation: what a task loses when one head is removed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.methods.effects import Effects
from headatlas.methods.example_method import ExampleMethod
from headatlas.methods.heads import as_heads, measured_without, parts_by_layer, sweep_passes
from headatlas.methods.measures import Measured, check_measure
from headatlas.methods.method import Inputs, Part, Report, verified_coordinates
from headatlas.methods.positions import check_positions, chosen_positions
from headatlas.methods.replacement import (
    REMOVALS,
    check_replacement,
    removal_plan,
    replacement_passes,
)
from headatlas.tasks import Example, Task

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.models.spec import Head, ModelSpec

UNITS = ("head", "group")


@dataclass(frozen=True, kw_only=True)
class Ablation(ExampleMethod):
    """Remove every head alone and measure the task.

    `effect[l,h]` = mean over examples of y(head (l,h) removed) − y, where y is the `measure`, such
    as the mean log P of a target's tokens. Negative: the task needs the head. `effect_se` is the
    standard error over questions, given this seed's demonstrations; `effect_half` is the effect on
    every other question. The `replacement` of a removed head's output is `zero`, its `mean` over
    training examples, or `resample`, the output on another example (Chan et al. 2022, causal
    scrubbing); at all `positions`, the `last` one of the prompt, or those `changed` by corruption.
    With the `unit` `group`, all heads that share keys and values are removed together.

    `heads` restricts the work to some heads, the others are NaN. With `by_function`, whole
    questions are drawn until there are as many `examples`, and every cognitive function that their
    steps need has its own effect. See `ExampleMethod` for the other settings.

    >>> Ablation(examples=8, replacement="mean").settings()["replacement"]
    'mean'
    """

    heads: tuple[Head, ...] | None = None
    by_function: bool = False
    replacement: str = "zero"
    measure: str = "logprob"
    positions: str = "all"
    unit: str = "head"

    name: ClassVar[str] = "ablation"
    version: ClassVar[int] = 5
    variable: ClassVar[str] = "effect"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heads is not None:
            object.__setattr__(self, "heads", as_heads(self.heads))
        check_replacement(self.replacement, REMOVALS)
        check_measure(self.measure)
        check_positions(self.positions)
        if self.unit not in UNITS:
            raise HeadAtlasError(f"no unit '{self.unit}': use {' or '.join(UNITS)}.")

    def parts(self, spec: ModelSpec) -> list[Part]:
        """One part per layer."""
        return parts_by_layer(spec, self.heads)

    def reports(self, part: Part) -> int:
        return len(part["heads"])

    def forward_passes(self, model: Model, examples: int) -> float:
        sets = {self._together(model.spec, head) for head in self.heads or model.spec.heads()}
        passes = examples * sweep_passes(model, [heads[0] for heads in sets])
        return passes + replacement_passes(self.replacement, examples)

    def check(self, model: Model, task: Task, seeds: int = 1) -> list[str]:
        task = task.for_tokenizer(model.tokenizer)
        measured = Measured.of(model, task, self.sample(task, 0), self.measure)
        measured, _ = chosen_positions(model, task, measured, self.positions)
        return measured.remarks() + self.sample_remarks(task, seeds)

    def sample(self, task: Task, seed: int) -> list[Example]:
        if self.by_function:
            return whole_questions(task, self.split_of(task), seed, self.examples)
        return super().sample(task, seed)

    def run(
        self,
        model: Model,
        task: Task,
        seed: int = 0,
        *,
        part: Part | None = None,
        report: Report | None = None,
        inputs: Inputs | None = None,
    ) -> Map:
        """The map of a task; with `part`, only its heads."""
        coordinates = verified_coordinates(model, seed)
        parts = [part] if part is not None else self.parts(model.spec)
        task = task.for_tokenizer(model.tokenizer)
        measured = Measured.of(model, task, self.sample(task, seed), self.measure)
        measured, positions = chosen_positions(model, task, measured, self.positions)
        plan = removal_plan(model, task, measured, self.replacement, seed, positions)
        sweep = model.sweep(plan)
        plain = measured.values(sweep.plain).cpu().double()  # example
        effects = Effects(
            model.spec,
            measured.examples,
            by_function=self.by_function,
            keep_examples=self.keep_examples,
        )
        for piece in parts:
            heads = [(layer, head) for layer, head in piece["heads"]]
            sets = [self._together(model.spec, head) for head in heads]
            for head, values in measured_without(sweep, measured, heads, sets):
                effects.add("effect", head, (values - plain).numpy())
                if report is not None:
                    report(f"seed {seed}, head {head[0]}.{head[1]}")
        logprob = sweep.plain.mean()[list(measured.target_rows)].cpu().double()
        facts = measured.facts() | {
            "baseline_logprob": float(logprob.mean()),
            "baseline_value": float(plain.mean()),
        }
        return self.map_of(model, task, seed, effects, facts, coordinates)

    def _together(self, spec: ModelSpec, head: Head) -> tuple[Head, ...]:
        """The heads that are removed with a head, itself among them."""
        if self.unit == "head":
            return (head,)
        group = spec.kv_group(*head)
        return tuple(
            other
            for other in spec.heads()
            if other[0] == head[0] and spec.kv_group(*other) == group
        )


def whole_questions(task: Task, split: str, seed: int, limit: int | None) -> list[Example]:
    """All labelled examples of questions that the seed draws from a split, up to `limit`."""
    steps: dict[str, list[Example]] = {}
    for example in task.prompts(split, seed):
        if example.function is not None:
            steps.setdefault(example.question, []).append(example)
    if not steps:
        raise TaskError(f"no {split} example of '{task.name}' says what function it needs.")
    order = random.Random(f"{task.questions_hash} whole {seed}").sample(list(steps), len(steps))
    sampled: list[Example] = []
    for question in order:
        if limit is not None and len(sampled) >= limit:
            break
        sampled += steps[question]
    return sampled
