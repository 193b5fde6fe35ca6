"""Faithfulness curves: what is left of a task when only a map's first heads are kept, or removed.

The heads of a model are removed in the order of a map, the least important first (`keep`) and the
most important first (`remove`), which is ordered toggling of the untouched model; see
`stats.faithfulness` for the numbers. An order shuffled within layers takes as many heads from every
layer at every point: what it achieves is known without knowing which heads matter. (MLPs stay as
they are: the model without heads is one whose heads are all replaced.)
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from headatlas.checks.results.faithfulness import CurveScore, Faithfulness, RemovalCurve
from headatlas.checks.yardstick.cost import forward_passes
from headatlas.checks.yardstick.curves import (
    KEPT,
    REMOVED,
    curve_sets,
    keep_shares,
    shuffled_within_layers,
)
from headatlas.checks.yardstick.order import judged_order
from headatlas.checks.yardstick.questions import RemovalQuestions
from headatlas.maps.halves import halves
from headatlas.maps.labels import method_label
from headatlas.maps.order import Head
from headatlas.stats.arrays import FloatArray
from headatlas.stats.ceiling import split_half
from headatlas.stats.faithfulness import HIGHER_IS_BETTER, KeepCurve
from headatlas.stats.intervals import Change, change_of
from headatlas.stats.orders import between_orders
from headatlas.stats.ratio import needed_change
from headatlas.stats.resampling import (
    bootstrap_change,
    bootstrap_variance,
    equal_weights,
    resampled_weights,
)

if TYPE_CHECKING:
    from headatlas.checks.context import CheckContext
    from headatlas.maps import Map

DRAWS = 4
"""Orders shuffled within layers."""

Measured = dict[str, FloatArray]
"""The measure of every question at the points of the curves `keep` and `remove`: point × question.
"""


def check_faithfulness(context: CheckContext) -> Faithfulness:
    """Both curves of a map, and those of shuffled orders."""
    model, head_map, about = context.model, context.head_map, context.about
    options = context.options
    order = judged_order(head_map, model.spec, context.task)
    questions = RemovalQuestions(
        model, context.task, about.requested, options["replacement"], options["measure"]
    )

    def measure(name: str, heads: Sequence[Head]) -> Measured:
        stored = context.keep(questions.piece(name), partial(_measured, questions, heads))
        context.report(1, name)
        return {curve: np.array(values) for curve, values in stored.items()}

    own = measure("the map's own order", order)
    rng = random.Random(f"{head_map.name} shuffled")
    draws = [
        measure(f"shuffled order {number}", shuffled_within_layers(order, rng))
        for number in range(1, DRAWS + 1)
    ]
    whole, empty = own["keep"][-1], own["remove"][-1]
    needed = needed_change(
        whole,
        empty,
        questions.prefixes,
        bounded=options["measure"] == "accuracy",
    )  # of the model and the task, however often a map is looked at
    judged = _Judged(own, draws, questions.prefixes, needed.above is True, about.level)
    return Faithfulness(
        about=about,
        replacement=options["replacement"],
        measure=options["measure"],
        questions=len(questions.names),
        left_out=questions.left_out,
        model_hash=model.fingerprint,
        task_hash=context.task.hash,
        questions_hash=questions.digest,
        prefixes=questions.prefixes,
        benchmark=KEPT,
        whole=float(whole.mean()),
        empty=float(empty.mean()),
        needed=needed,
        keep=judged.curve("keep", keep_shares(), curve_sets(order)["keep"]),
        remove=judged.curve("remove", REMOVED, curve_sets(order)["remove"]),
        scores=judged.scores(),
        kept=tuple(map(tuple, own["keep"].tolist())),
        whole_values=tuple(whole.tolist()),
        empty_values=tuple(empty.tolist()),
        forward_passes=forward_passes(head_map, model),
        method=method_label(head_map),
        reliability=_reliability(head_map),
    )


def faithfulness_passes(head_map: Map) -> int:
    """How often the check reports."""
    return 1 + DRAWS


def _measured(questions: RemovalQuestions, order: Sequence[Head]) -> dict[str, list[list[float]]]:
    """What every question scores at all points of both curves; equal sets of heads run once."""
    sets = curve_sets(order)
    distinct = list(dict.fromkeys(heads for curve in sets.values() for heads in curve))
    values = dict(zip(distinct, questions.values(distinct).tolist(), strict=True))
    return {curve: [values[heads] for heads in points] for curve, points in sets.items()}


def _reliability(head_map: Map) -> float:
    """The rank correlation to expect between this map and another one made like it, with other
    seeds; NaN where `why_unknown` says why."""
    both = halves(head_map)
    if both is None:
        return float("nan")
    one, other = (half.to_numpy().ravel() for half in (both.one, both.other))
    known = np.isfinite(one) & np.isfinite(other)
    return split_half((one[known], other[known]), both.factor)


class _Judged:
    """Curves of a map and of shuffled orders, on resampled questions."""

    def __init__(
        self,
        own: Measured,
        draws: list[Measured],
        prefixes: Sequence[int],
        needs_heads: bool,
        level: float,
    ) -> None:
        self._orders = [own, *draws]
        self._needs_heads, self._level = needs_heads, level
        self._weights, self._equal = resampled_weights(prefixes), equal_weights(len(prefixes))
        self._prefixes = len(set(prefixes))

    def _curves(self, name: str, shares: tuple[float, ...]) -> list[KeepCurve]:
        """The curves of a name: the map's own, then those of the shuffled orders."""
        return [
            KeepCurve(
                shares,
                KEPT,
                order[name],
                order["keep"][-1],
                order["remove"][-1],
                self._needs_heads,
            )
            for order in self._orders
        ]

    def _change(self, value: float, resampled: FloatArray) -> Change:
        return bootstrap_change(value, resampled, self._prefixes, self._level)

    def curve(
        self, name: str, shares: tuple[float, ...], kept: list[tuple[Head, ...]]
    ) -> RemovalCurve:
        """A curve with intervals, and those of the shuffled orders."""
        own, *shuffled = self._curves(name, shares)
        means, resampled = own.faithfulness(self._equal)[0], own.faithfulness(self._weights)
        number = max(map(len, kept))
        return RemovalCurve(
            shares,
            tuple(len(heads) if name == "keep" else number - len(heads) for heads in kept),
            tuple(map(self._change, means.tolist(), resampled.T)),
            tuple(tuple(curve.faithfulness(self._equal)[0].tolist()) for curve in shuffled),
        )

    def scores(self) -> dict[str, CurveScore]:
        """Every score with its interval, and how much better it is than by chance.

        Other questions would change that, and so would other shuffled orders (`between_orders`).
        """
        curves = self._curves("keep", keep_shares())
        means = [curve.scores(self._equal) for curve in curves]
        resampled = [curve.scores(self._weights) for curve in curves]
        scores = {}
        for name, high in HIGHER_IS_BETTER.items():
            sign = 1.0 if high else -1.0
            value, *controls = (float(mean[name][0]) for mean in means)
            own, *others = (draws[name] for draws in resampled)
            better = sign * (value - float(np.mean(controls)))
            questions = bootstrap_variance(own - np.mean(others, axis=0), self._prefixes)
            scores[name] = CurveScore(
                self._change(value, own),
                tuple(controls),
                change_of(better, [questions, between_orders([controls])], self._level),
                questions,
            )
        return scores
