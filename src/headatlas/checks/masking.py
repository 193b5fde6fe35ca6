"""Do a function's heads matter for it? Mask them, and as many random ones, and ask."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headatlas.checks.controls import Head, matched_heads
from headatlas.checks.measure import Answers, FloatArray
from headatlas.checks.steps import Answering, Steps
from headatlas.stats.clustered import Change, mean_change
from headatlas.models.edit import Edit
from headatlas.tasks.functions import HIGH_ORDER, LOW_ORDER

if TYPE_CHECKING:
    from headatlas.models.spec import ModelSpec

SHARES = (0.02, 0.07)
"""Shares of all heads that are masked, besides the heads before the elbow."""

DRAWS = 4


@dataclass(frozen=True)
class Masks:
    """Answers of the same steps: untouched, with chosen heads masked, and with random ones.

    `controls` has one entry a random draw. Numbers below are of the steps at given places.
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
    chance = random.Random(f"controls {name} {len(heads)}")
    label = f"{name}, {len(heads)} heads"
    chosen = answer(f"{label} masked", steps, Edit.ablate(spec, heads))
    controls = []
    for number in range(1, draws + 1):
        drawn = matched_heads(heads, list(spec.heads()), chance)
        controls.append(answer(f"{label}, random {number}", steps, Edit.ablate(spec, drawn)))
    return Masks(tuple(heads), steps.questions, before, chosen, tuple(controls))


def masking_row(function: str, masks: Masks, at: list[int], *, elbow: bool) -> dict[str, Any]:
    """What masking a function's heads does to the function's own steps, as plain data.

    `holds`: the chosen heads lower the log-probability more than random ones do.
    """
    more = masks.difference("logprob", at)
    return {
        "function": function,
        "heads": len(masks.heads),
        "elbow": elbow,
        "examples": len(at),
        "draws": len(masks.controls),
        "change": asdict(masks.change("logprob", at)),
        "control": masks.control("logprob", at),
        "difference": asdict(more),
        "accuracy": float(masks.before.exact[at].mean()),
        "accuracy_change": asdict(masks.change("exact", at)),
        "accuracy_control": masks.control("exact", at),
        "accuracy_difference": asdict(masks.difference("exact", at)),
        "holds": more.below,
    }


def specificity(masked: dict[str, Masks], steps: Steps) -> dict[str, Any]:
    """Mask the heads of function A, measure function B: everything as tables A × B."""
    names = list(masked)
    places = [steps.at(name) for name in names]
    cells = [[masks.change("logprob", at) for at in places] for masks in masked.values()]
    more = [[masks.difference("logprob", at) for at in places] for masks in masked.values()]
    tables = {"change": cells, "difference": more}
    return {
        "functions": names,
        "heads": [len(masks.heads) for masks in masked.values()],
        "accuracy_change": [
            [masks.change("exact", at).mean for at in places] for masks in masked.values()
        ],
        **{
            name: [[asdict(each) for each in row] for row in table]
            for name, table in tables.items()
        },
    }


def order(masked: dict[str, Masks], steps: Steps) -> list[dict[str, Any]]:
    """Mask each low-order function's heads, measure every high-order function, and all of them.

    Functions that are not among the eight have no order.
    """
    high = [name for name in masked if name in HIGH_ORDER]
    rows = []
    for name in (name for name in masked if name in LOW_ORDER):
        for measured in [*([each] for each in high), *([high] if len(high) > 1 else [])]:
            at = steps.at(*measured)
            rows.append(
                {
                    "masked": name,
                    "measured": measured[0] if len(measured) == 1 else "high order",
                    "heads": len(masked[name].heads),
                    "change": asdict(masked[name].change("logprob", at)),
                    "difference": asdict(masked[name].difference("logprob", at)),
                }
            )
    return rows


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
    """Mean and interval of values (step), less those of random draws (draw × step)."""
    values = _pick(values, at)
    named = list(questions) if at is None else [questions[i] for i in at]
    if controls is None:
        return mean_change(values, named, bounded=bounded)
    controls = _pick(controls, at)
    draws = len(controls)
    spread = float(controls.mean(1).std(ddof=1)) / math.sqrt(draws) if draws > 1 else 0.0
    values = values - controls.mean(0)
    return mean_change(values, named, spread, max(draws - 1, 1), bounded=bounded)
