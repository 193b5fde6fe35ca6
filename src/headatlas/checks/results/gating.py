"""Results of checking a gating map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headatlas.checks.results.about import MapCheck

EXPECTED = {"facilitation": "falls", "interference": "rises", "irrelevance": "stays flat"}
"""What log P(target) does for a true map when the heads of a score are switched off."""


@dataclass(frozen=True)
class HeldOut:
    """Loss (nats per token) and accuracy of a gate matrix on test questions, against the untouched
    model: means over seeds, 95 % intervals over questions. `better` seeds have a lower loss."""

    gates: str
    loss: float
    accuracy: float
    change: float
    low: float
    high: float
    better: int
    seeds: int
    questions: int
    heads_on: float


@dataclass(frozen=True)
class Curve:
    """The toggling curve of a score.

    `heads[i]` heads are toggled at a point; `change` is seed × point. `end` is the change with all
    heads toggled whose score reaches the threshold, `count` of them on average; its 95 % interval
    allows for the seeds and for the questions.
    """

    score: str
    heads: tuple[int, ...]
    change: tuple[tuple[float, ...], ...]
    end: float
    low: float
    high: float
    count: float


@dataclass(frozen=True)
class Toggling:
    """Toggling curves of a map, and whether they have the signs that the scores predict.

    `holds` has an entry per score: `None` where it is inconclusive (no heads of that role, an
    interval that contains 0, or no fall to compare with).
    """

    seeds: int
    questions: int
    curves: tuple[Curve, ...]
    holds: dict[str, bool | None]


@dataclass(frozen=True)
class GatingCheck(MapCheck):
    """Held-out loss under the learned gates, and ordered toggling.

    >>> atlas.check(gates).toggling.holds["facilitation"]  # doctest: +SKIP
    True
    """

    kind: ClassVar[str] = "gating check"
    figures: ClassVar[tuple[str, ...]] = ("toggling",)

    held_out: tuple[HeldOut, ...]
    toggling: Toggling

    def summary(self) -> list[str]:
        """What toggling found, a sentence per score."""
        return [self._sentence(curve) for curve in self.toggling.curves]

    def _sentence(self, curve: Curve) -> str:
        start = f"toggling {curve.count:.0f} heads by {curve.score}:"
        if not curve.count:
            return f"{start} there are none"
        found = f"{curve.end:+.2f} nats ({curve.low:+.2f} … {curve.high:+.2f})"
        expected = EXPECTED[curve.score]
        verdicts = {
            True: f"{expected}, as expected of a true map",
            False: f"NOT as expected: it {expected} for a true map",
            None: "inconclusive",
        }
        return f"{start} {found}: {verdicts[self.toggling.holds[curve.score]]}"
