"""Results of the yardstick: how faithful a model stays as heads are removed in a map's order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isnan
from typing import ClassVar

import numpy as np

from headatlas.checks.results.about import MapCheck
from headatlas.stats.faithfulness import HIGHER_IS_BETTER, KeepCurve
from headatlas.stats.intervals import Change, Variance

MEANINGS = {
    "cpr": "CPR (area under the curve)",
    "cmd": "CMD (distance from the whole model)",
    "circuit": "faithfulness of circuits of up to 20 % of the heads",
    "removable": "loss when up to half of the heads are removed, the least important first",
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
    map's own is than theirs (above 0: better, whether a high or a low number is good).

    `from_questions` is the part of the variance of `better` that other questions would change, with
    its degrees of freedom; the rest is what shuffled orders differ by.
    """

    value: Change
    controls: tuple[float, ...]
    better: Change
    from_questions: Variance

    @property
    def control(self) -> float:
        """The mean of the shuffled orders."""
        return float(np.mean(self.controls)) if self.controls else float("nan")


@dataclass(frozen=True)
class Faithfulness(MapCheck):
    """The yardstick of any map: keep only its most important heads, and remove them first.

    `keep` is the curve of a model with only the first heads of the map's order, the others
    replaced by their `replacement`; `remove` that of one without them. Both are normalised so that
    the model without any head is 0 and the whole one 1; `whole` and `empty` are what these score,
    and `needed` is how much more the whole one scores. Unless that is shown to be above 0, curves
    and all scores but the gain are NaN. `left_out` questions were drawn and cannot be used.
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
    left_out: int
    model_hash: str
    task_hash: str
    questions_hash: str
    prefixes: tuple[int, ...]
    benchmark: tuple[float, ...]
    whole: float
    empty: float
    needed: Change
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
            self.needs_heads,
        )

    @property
    def needs_heads(self) -> bool:
        """Whether the model is shown to need its heads for the task."""
        return self.needed.above is True

    @property
    def comparable(self) -> tuple[str, ...]:
        """What two results must share to be compared: model, task and questions, by their content,
        and how heads are replaced and measured."""
        hashes = (self.model_hash, self.task_hash, self.questions_hash)
        return (*hashes, self.replacement, self.measure)

    def summary(self) -> list[str]:
        """What was found: how far the model depends on heads at all, and a sentence per score."""
        left_out = f" ({self.left_out} more cannot be used)" if self.left_out else ""
        first = (
            f"{self.method} on {self.about.task}, look {self.about.look}: {self.questions} test "
            f"questions{left_out} after {len(set(self.prefixes))} prompts, "
            f"{len(self.keep.controls)} orders shuffled within layers; all heads "
            f"{self.whole:.3f}, none {self.empty:.3f} ({self.measure}, removed heads replaced by "
            f"{self.replacement})"
        )
        if self.needs_heads:
            return [first, *(self._sentence(name) for name in HIGHER_IS_BETTER)]
        unknown = (
            "the model is not shown to need its heads for this task "
            f"({_signed(self.needed)}), so faithfulness is undefined"
        )
        return [first, unknown, self._sentence("gain")]

    def _sentence(self, name: str) -> str:
        score = self.scores[name]
        if isnan(score.value.mean):
            return f"{MEANINGS[name]}: unknown"
        value, better = score.value, score.better
        verdicts = {
            True: f"better by {better.mean:+.3f} ({better.low:+.3f} … {better.high:+.3f})",
            False: f"WORSE by {better.mean:+.3f} ({better.low:+.3f} … {better.high:+.3f})",
            None: f"no difference shown ({_signed(better)})",
        }
        return (
            f"{MEANINGS[name]}: {value.mean:.3f} ({value.low:.3f} … {value.high:.3f}), shuffled "
            f"{score.control:.3f}: {verdicts[better.above]}"
        )


def _signed(change: Change) -> str:
    return f"{change.mean:+.3f}, {change.low:+.3f} … {change.high:+.3f}"


USUAL = ("mean", "logprob")
"""The replacement and the measure that file names leave out."""
