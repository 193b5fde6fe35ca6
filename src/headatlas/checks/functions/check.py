"""Is a map of cognitive functions true? Mask, compare, order, strengthen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from headatlas.checks.context import CheckContext
from headatlas.checks.functions.masking import (
    DRAWS,
    SHUFFLED,
    Masked,
    mask,
    pooled_masking,
    pooled_over_shuffled,
    shuffled_heads,
)
from headatlas.checks.functions.order import order, order_claim
from headatlas.checks.functions.specificity import (
    equal_count,
    pooled_specificity,
    specificity,
)
from headatlas.checks.functions.steps import Answering, Steps, answer_steps
from headatlas.checks.functions.strengthening import (
    PUSH_DRAWS,
    STRENGTHS,
    Direction,
    choose_strength,
    push_all,
    strengthening_claim,
)
from headatlas.checks.measure import Answers
from headatlas.checks.results.about import About
from headatlas.checks.results.functions import Claim, FunctionCheck, Strengthening
from headatlas.checks.sizes import sizes_at_answers
from headatlas.maps.functions import Ranked, function_names, ranked_heads
from headatlas.maps.order import Head
from headatlas.methods.features import Features, Reading
from headatlas.models.edit import Edit
from headatlas.stats.clustered import LEVEL

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.spec import ModelSpec
    from headatlas.stats.intervals import Change


@dataclass(frozen=True)
class Subject:
    """What is checked: every function's ranked heads, the size of every head's output, the
    directions of functions, and the heads of a probe of shuffled labels, if there is one."""

    spec: ModelSpec
    ranked: Mapping[str, Ranked]
    sizes: Mapping[Head, float]
    direction: Direction
    shuffled: Mapping[str, Sequence[Head]] = field(default_factory=dict)


def check_functions(context: CheckContext) -> FunctionCheck:
    """All causal checks of a probing map, on test questions; every pass is kept by its name."""
    model, task = context.model, context.task
    features = Features.of(task, context.inputs[Reading.name])
    subject = Subject(
        model.spec,
        ranked_heads(context.head_map),
        sizes_at_answers(model, features),
        partial(features.direction, model.spec),
        shuffled_heads(context.head_map),
    )
    names, limit = tuple(subject.ranked), context.about.requested
    steps = Steps.of(model, task, names, limit)
    select = Steps.of(model, task, names, limit, split="select")

    def answer(name: str, steps: Steps, edit: Edit) -> Answers:
        context.report(0, name)
        stored = context.keep(name, lambda: answer_steps(model, steps, edit).as_dict())
        context.report(1, name)
        return Answers.from_dict(stored)

    return causal_checks(subject, steps, select, answer, context.about, level=context.level)


def function_passes(head_map: Map, draws: int = DRAWS) -> int:
    """Number of passes over steps that a check takes.

    One over all test and one over all select steps; per function one over all test steps, and over
    its own test steps one with its heads masked, one for every random draw, one for a probe of
    shuffled labels, and the pushes; over its own select steps one for every strength.
    """
    functions = len(function_names(head_map))
    masks = 1 + draws + (SHUFFLED in head_map.variables)
    others = min(PUSH_DRAWS, functions - 1) if functions > 2 else 0  # one says nothing
    pushes = 1 + PUSH_DRAWS + others
    return 2 + functions * (1 + masks + len(STRENGTHS) + pushes)


def causal_checks(
    subject: Subject,
    steps: Steps,
    select: Steps,
    answer: Answering,
    about: About,
    *,
    draws: int = DRAWS,
    level: float = LEVEL,
) -> FunctionCheck:
    """Masking, specificity, order and strengthening, and the results for the published claims."""
    before = answer("untouched", steps, Edit())
    masked = mask_all(subject, steps, before, answer, draws=draws)
    count, everywhere = mask_everywhere(subject, steps, answer)
    changes = {name: answers.logprob - before.logprob for name, answers in everywhere.items()}
    in_order = order(changes, steps, count, level)
    kept = {result.function: result.controls.kept for result in masked}
    untouched = answer("untouched, select", select, Edit())
    strength, tried = choose_strength(kept, subject.direction, select, untouched, answer, level)
    pushed = push_all(kept, subject.direction, strength, steps, before, answer)
    return FunctionCheck(
        about=about,
        level=level,
        examples=len(steps.rows),
        questions=len(set(steps.questions)),
        prefixes=len(set(steps.prefixes)),
        draws=draws,
        masking=tuple(result.row(level, len(masked)) for result in masked),
        specificity=specificity(everywhere, before, steps, count, level),
        order=in_order,
        strengthening=Strengthening(
            strength, tried, PUSH_DRAWS, tuple(result.row(level) for result in pushed)
        ),
        claims={
            "masking": _harm(pooled_masking(masked, subject.spec.heads(), level)),
            "shuffled": _harm(pooled_over_shuffled(masked, level)),
            "specificity": _harm(pooled_specificity(changes, steps, level)),
            "order": order_claim(in_order),
            "strengthening": strengthening_claim(pushed, level),
        },
    )


def mask_all(
    subject: Subject, steps: Steps, before: Answers, answer: Answering, *, draws: int = DRAWS
) -> list[Masked]:
    """Mask the heads before every function's elbow, and heads like them, on its own steps."""
    return [
        mask(
            subject.spec,
            steps.only(name),
            name,
            heads.heads[: max(1, heads.elbow)],
            subject.sizes,
            before.at(steps.at(name)),
            answer,
            shuffled=subject.shuffled.get(name, ()),
            draws=draws,
        )
        for name, heads in subject.ranked.items()
    ]


def mask_everywhere(
    subject: Subject, steps: Steps, answer: Answering
) -> tuple[int, dict[str, Answers]]:
    """Mask the same number of every function's heads on all steps; the number, and the answers."""
    count = equal_count(subject.ranked, subject.spec.heads())
    answers = {}
    for name, heads in subject.ranked.items():
        edit = Edit.ablate(subject.spec, heads.heads[:count])
        answers[name] = answer(f"{name}, {count} heads, all steps", steps, edit)
    return count, answers


def _harm(change: Change | None) -> Claim | None:
    """A claim that holds if the change lies below 0."""
    return None if change is None else Claim(change, change.below)
