"""Is a map of cognitive functions true? Mask, compare, order, strengthen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from torch import Tensor

from headatlas.checks.claims import pooled_masking, pooled_order, pooled_specificity
from headatlas.checks.context import CheckContext
from headatlas.checks.masking import DRAWS, SHARES, Masks, mask, masking_row, order, specificity
from headatlas.checks.measure import Answers
from headatlas.checks.results.about import About
from headatlas.checks.results.functions import Claim, FunctionCheck
from headatlas.checks.steps import Answering, Steps, answer_steps
from headatlas.checks.strengthening import (
    MAIN_STRENGTH,
    STRENGTHS,
    Pushed,
    pooled_strengthening,
)
from headatlas.maps.functions import Ranked, ranked_heads
from headatlas.maps.order import Head
from headatlas.methods.features import Features, Reading
from headatlas.models.edit import Edit

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.spec import ModelSpec
    from headatlas.stats.intervals import Change

Direction = Callable[[str, Sequence[Head]], Tensor]
"""Where a function pushes some heads: layer × head × d_head, 0 at other heads."""

MAX_SHARE = 1 / 3
"""At most this share of the heads is masked: as many others must be left to draw from."""


def check_functions(context: CheckContext) -> FunctionCheck:
    """All causal checks of a probing map, on test questions; every pass is kept by its name."""
    model, task = context.model, context.task
    ranked = ranked_heads(context.head_map)
    features = Features.of(task, context.inputs[Reading.name])
    steps = Steps.of(model, task, tuple(ranked), limit=context.about.requested)

    def answer(name: str, steps: Steps, edit: Edit) -> Answers:
        context.report(0, name)
        stored = context.keep(name, lambda: answer_steps(model, steps, edit).as_dict())
        context.report(1, name)
        return Answers.from_dict(stored)

    direction = partial(features.direction, model.spec)
    return causal_checks(model.spec, steps, ranked, direction, answer, context.about)


def function_passes(head_map: Map, draws: int = DRAWS) -> int:
    """Number of passes over steps that a check takes."""
    ranked = ranked_heads(head_map)
    masked = sum(1 + len(counts_of(each)[1]) for each in ranked.values())
    return 1 + masked * (1 + draws) + len(STRENGTHS) * len(ranked)


def counts_of(ranked: Ranked, shares: Sequence[float] = SHARES) -> tuple[int, list[int]]:
    """How many heads are masked: those before the elbow, and further numbers besides."""
    heads = len(ranked.heads)
    most = max(1, int(heads * MAX_SHARE))
    main = min(max(1, ranked.elbow), most)
    others = {min(max(1, round(share * heads)), most) for share in shares}
    return main, sorted(others - {main})


def causal_checks(
    spec: ModelSpec,
    steps: Steps,
    ranked: dict[str, Ranked],
    direction: Direction,
    answer: Answering,
    about: About,
    *,
    draws: int = DRAWS,
) -> FunctionCheck:
    """Masking, specificity, order and strengthening, and the results for the published claims."""
    before = answer("untouched", steps, Edit())
    masked: dict[str, Masks] = {}
    rows, pushed = [], []
    for name, heads in ranked.items():
        at, own = steps.at(name), steps.only(name)
        main, others = counts_of(heads)
        masked[name] = mask(spec, steps, name, heads.heads[:main], before, answer, draws=draws)
        of_function = [masking_row(name, masked[name], at, elbow=True)]
        for count in others:
            fewer = mask(
                spec, own, f"{name} alone", heads.heads[:count], before.at(at), answer, draws=draws
            )
            of_function.append(masking_row(name, fewer, list(range(len(at))), elbow=False))
        rows += sorted(of_function, key=lambda row: row.heads)
        along = direction(name, heads.heads[:main])
        for strength in STRENGTHS:
            words = f"{name}, {main} heads, strength {strength:g}"
            after = answer(words, own, Edit(shift=strength * along))
            pushed.append(Pushed(name, strength, main, before.at(at), after, own.questions))
    return FunctionCheck(
        about=about,
        examples=len(steps.rows),
        questions=len(set(steps.questions)),
        draws=draws,
        masking=tuple(rows),
        specificity=specificity(masked, steps),
        order=order(masked, steps),
        strengthening=tuple(push.row() for push in pushed),
        strengthening_of_all=tuple(pooled_strengthening(pushed, each) for each in STRENGTHS),
        claims={
            "masking": _claim(pooled_masking(masked, steps)),
            "specificity": _claim(pooled_specificity(masked, steps)),
            "order": _claim(pooled_order(masked, steps)),
            "strengthening": _claim(pooled_strengthening(pushed, MAIN_STRENGTH).change, rises=True),
        },
    )


def _claim(change: Change | None, *, rises: bool = False) -> Claim | None:
    if change is None:
        return None
    return Claim(change, change.above if rises else change.below)
