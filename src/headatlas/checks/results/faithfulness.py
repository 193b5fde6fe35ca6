"""Results of the yardstick: how faithful a model stays as heads are removed in a map's order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import ClassVar

import numpy as np

from headatlas.checks.results.about import MapCheck
from headatlas.stats.faithfulness import HIGHER_IS_BETTER, KeepCurve
from headatlas.stats.intervals import Change

MEANINGS = {
    "cpr": "CPR (area under the curve)",
    "cmd": "CMD (distance from the whole model)",
    "circuit": "faithfulness of circuits of up to 20 % of the heads",
    "removable": "change when up to half of the heads are removed, the least important first",
    "gain": "gain when the least important 2 % are removed",
}


@dataclass(frozen=True)
class RemovalCurve:
    """A curve over shares of heads: `heads` are their numbers at every point.

    `value` is the mean over questions of the faithfulness with its interval; `controls` are the
    curves of orders shuffled within layers, draw × point.
    """

    shares: tuple[float, ...]
    heads: tuple[int, ...]
    value: tuple[Change, ...]
    controls: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class CurveScore:
    """A number that sums up a curve, the same of every shuffled order, and how much better the
    map's own is than theirs (above 0: better, whether a high or a low number is good)."""

    value: Change
    controls: tuple[float, ...]
    better: Change

    @property
    def control(self) -> float:
        """The mean of the shuffled orders."""
        return float(np.mean(self.controls)) if self.controls else float("nan")


@dataclass(frozen=True)
class Faithfulness(MapCheck):
    """The yardstick of any map: keep only its most important heads, and remove them first.

    `keep` is the curve of a model with only the first heads of the map's order, the others
    replaced by their `replacement`; `remove` that of one without them. Both are normalised so that
    the model without any head is 0 and the whole one 1; `whole` and `empty` are what these score.
    `scores` are explained in `stats.faithfulness`. `kept`, `whole_values` and `empty_values` are
    the measures of single questions, which two maps are compared by. `forward_passes` is what the
    map cost, in passes of one example, those with gradient counted twice.

    >>> result = atlas.check("ablation", kind="faithfulness")  # doctest: +SKIP
    >>> result.scores["cpr"].value  # doctest: +SKIP
    Change(mean=0.71, low=0.65, high=0.77)
    """

    kind: ClassVar[str] = "faithfulness"
    figures: ClassVar[tuple[str, ...]] = ("faithfulness",)

    replacement: str
    measure: str
    questions: int
    prefixes: tuple[int, ...]
    benchmark: tuple[float, ...]
    whole: float
    empty: float
    keep: RemovalCurve
    remove: RemovalCurve
    scores: dict[str, CurveScore]
    kept: tuple[tuple[float, ...], ...]
    whole_values: tuple[float, ...]
    empty_values: tuple[float, ...]
    forward_passes: float
    method: str
    reliability: float

    @property
    def file_name(self) -> str:
        words = [word for word in (self.replacement, self.measure) if word not in USUAL]
        return "-".join([f"{self.about.map}.faithfulness", *words])

    @cached_property
    def curve(self) -> KeepCurve:
        """The measures of all questions at the points of `keep`."""
        return KeepCurve(
            self.keep.shares,
            self.benchmark,
            np.array(self.kept),
            np.array(self.whole_values),
            np.array(self.empty_values),
        )

    @property
    def comparable(self) -> tuple[str, ...]:
        """What two results must share to be compared: model, task, questions and how heads are
        replaced and measured."""
        about = self.about
        key = (about.model, about.task, str(about.requested), self.replacement, self.measure)
        return (*key, str(self.questions))

    def summary(self) -> list[str]:
        """What was found: how far the model depends on heads at all, and a sentence per score."""
        first = (
            f"{self.method} on {self.about.task}, look {self.about.look}: {self.questions} test "
            f"questions after {len(set(self.prefixes))} prompts, {len(self.keep.controls)} orders "
            f"shuffled within layers; all heads {self.whole:.3f}, none {self.empty:.3f} "
            f"({self.measure}, removed heads replaced by {self.replacement})"
        )
        return [first, *(self._sentence(name) for name in HIGHER_IS_BETTER)]

    def _sentence(self, name: str) -> str:
        score = self.scores[name]
        verdicts = {True: "better", False: "WORSE", None: "not shown to differ"}
        if isnan(score.value.mean):
            return f"{MEANINGS[name]}: unknown"
        value, better = score.value, score.better
        return (
            f"{MEANINGS[name]}: {value.mean:.3f} ({value.low:.3f} … {value.high:.3f}), shuffled "
            f"{score.control:.3f}: {verdicts[better.above]} by {better.mean:+.3f} "
            f"({better.low:+.3f} … {better.high:+.3f})"
        )


USUAL = ("mean", "logprob")
"""The replacement and the measure that file names leave out."""
