"""Do a function's heads matter for it? Mask them, and as many random heads, and compare."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headatlas.checks.controls import matched_heads
from headatlas.checks.measure import Answers, FloatArray
from headatlas.checks.results.functions import MaskingRow, OrderRow, Specificity
from headatlas.checks.steps import Answering, Steps
from headatlas.maps.order import Head
from headatlas.models.edit import Edit
from headatlas.stats.intervals import Change, mean_change
from headatlas.tasks.functions import HIGH_ORDER, LOW_ORDER

if TYPE_CHECKING:
    from headatlas.models.spec import ModelSpec

SHARES = (0.02, 0.07)
"""Shares of all heads that are masked, besides the heads before the elbow."""

DRAWS = 4


@dataclass(frozen=True)
class Masks:
    """Answers to the same steps: untouched, with the chosen heads masked, and with random ones.

    `controls` has one entry per random draw. The methods take the numbers of the steps that count.
    """

    heads: tuple[Head, ...]
    questions: tuple[str, ...]
    before: Answers
    chosen: Answers
    controls: tuple[Answers, ...]

    def change(self, what: str, at: Sequence[int] | None = None) -> Change:
        """What masking the chosen heads does."""
        values = getattr(self.chosen, what) - getattr(self.before, what)
        return _change(values, self.questions, at, bounded=what == "exact")

    def control(self, what: str, at: Sequence[int] | None = None) -> float:
        """What masking random heads does, on average."""
        return float(_pick(self.controls_change(what), at).mean())

    def difference(self, what: str, at: Sequence[int] | None = None) -> Change:
        """How much more than random heads the chosen ones do."""
        values = getattr(self.chosen, what) - getattr(self.before, what)
        controls = self.controls_change(what)
        return _change(values, self.questions, at, controls, bounded=what == "exact")

    def controls_change(self, what: str) -> FloatArray:
        """What masking random heads does to every step: draw × step."""
        before = getattr(self.before, what)
        return np.stack([getattr(each, what) - before for each in self.controls])


def mask(
    spec: ModelSpec,
    steps: Steps,
    name: str,
    heads: Sequence[Head],
    before: Answers,
    answer: Answering,
    *,
    draws: int = DRAWS,
) -> Masks:
    """Mask heads (gate 0 at all positions), then `draws` times layer-matched random others."""
    rng = random.Random(f"controls {name} {len(heads)}")
    label = f"{name}, {len(heads)} heads"
    chosen = answer(f"{label} masked", steps, Edit.ablate(spec, heads))
    controls = []
    for number in range(1, draws + 1):
        others = matched_heads(heads, list(spec.heads()), rng)
        controls.append(answer(f"{label}, random {number}", steps, Edit.ablate(spec, others)))
    return Masks(tuple(heads), steps.questions, before, chosen, tuple(controls))


def masking_row(function: str, masks: Masks, at: list[int], *, elbow: bool) -> MaskingRow:
    """What masking a function's heads does to the function's own steps."""
    difference = masks.difference("logprob", at)
    return MaskingRow(
        function=function,
        heads=len(masks.heads),
        elbow=elbow,
        examples=len(at),
        draws=len(masks.controls),
        change=masks.change("logprob", at),
        control=masks.control("logprob", at),
        difference=difference,
        accuracy=float(masks.before.exact[at].mean()),
        accuracy_change=masks.change("exact", at),
        accuracy_control=masks.control("exact", at),
        accuracy_difference=masks.difference("exact", at),
        holds=difference.below,
    )


def specificity(masked: dict[str, Masks], steps: Steps) -> Specificity:
    """Mask the heads of function A, measure function B: everything as tables A × B."""
    places = [steps.at(name) for name in masked]
    rows = masked.values()
    return Specificity(
        functions=tuple(masked),
        heads=tuple(len(masks.heads) for masks in rows),
        accuracy_change=tuple(
            tuple(masks.change("exact", at).mean for at in places) for masks in rows
        ),
        change=tuple(tuple(masks.change("logprob", at) for at in places) for masks in rows),
        difference=tuple(tuple(masks.difference("logprob", at) for at in places) for masks in rows),
    )


def order(masked: dict[str, Masks], steps: Steps) -> tuple[OrderRow, ...]:
    """Mask each low-order function's heads, measure every high-order function, and all of them.

    Functions that are not among the eight have no order.
    """
    high = [name for name in masked if name in HIGH_ORDER]
    rows = []
    for name in (name for name in masked if name in LOW_ORDER):
        for measured in [*([each] for each in high), *([high] if len(high) > 1 else [])]:
            at = steps.at(*measured)
            rows.append(
                OrderRow(
                    masked=name,
                    measured=measured[0] if len(measured) == 1 else "high order",
                    heads=len(masked[name].heads),
                    change=masked[name].change("logprob", at),
                    difference=masked[name].difference("logprob", at),
                )
            )
    return tuple(rows)


def _pick(values: FloatArray, at: Sequence[int] | None) -> FloatArray:
    return values if at is None else values[..., list(at)]


def _change(
    values: FloatArray,
    questions: Sequence[str],
    at: Sequence[int] | None = None,
    controls: FloatArray | None = None,
    *,
    bounded: bool = False,
) -> Change:
    """Mean and interval of values (step) minus those of random draws (draw × step)."""
    values = _pick(values, at)
    named = list(questions) if at is None else [questions[i] for i in at]
    if controls is None:
        return mean_change(values, named, bounded=bounded)
    controls = _pick(controls, at)
    draws = len(controls)
    extra_se = float(controls.mean(1).std(ddof=1)) / math.sqrt(draws) if draws > 1 else 0.0
    values = values - controls.mean(0)
    return mean_change(values, named, extra_se, max(draws - 1, 1), bounded=bounded)
