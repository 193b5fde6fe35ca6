"""How much the accuracy of a probe is worth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from headatlas.checks.results.about import MapCheck

CONTROLS = {
    "majority": "the most common function in training",
    "words": "words of the prompt alone",
    "place": "number and length of the step",
    "shuffled": "the probe with shuffled labels",
}
"""What a probe's accuracy is compared with."""


@dataclass(frozen=True)
class Control:
    """Accuracy of a control on the same test examples, and the probe's gain over it with its 95 %
    interval over questions. `holds`: the probe is better (`None`: inconclusive)."""

    accuracy: float
    gain: float
    low: float
    high: float
    holds: bool | None


@dataclass(frozen=True)
class ProbeReport(MapCheck):
    """A probe on test questions: mean over seeds, with its 95 % interval over questions.

    `controls`: the most common function in training (`majority`), a bag of words of the
    prompt (`words`), the number of steps before this one and the length of the prompt (`place`),
    and the same probe trained on shuffled labels (`shuffled`); the gain over the last is the
    probe's selectivity. `confusion[a][b]`: share of the examples of function a that were taken
    for b. `left_out`: number of answers that were not used, by reason.

    >>> atlas.result(functions, "probe").accuracy  # doctest: +SKIP
    0.62
    """

    kind: ClassVar[str] = "probe report"
    figures: ClassVar[tuple[str, ...]] = ("confusion",)

    functions: tuple[str, ...]
    examples: int
    questions: int
    seeds: int
    accuracy: float
    low: float
    high: float
    chance: float
    controls: dict[str, Control]
    confusion: tuple[tuple[float, ...], ...]
    left_out: dict[str, int] = field(default_factory=dict)

    def label(self, control: str) -> str:
        """What a control is, in a few words."""
        return CONTROLS[control]

    def summary(self) -> list[str]:
        """The accuracy, and a warning for every control that needs no heads and does as well."""
        lines = [
            f"the probe tells {len(self.functions)} functions apart in {self.accuracy:.0%} of "
            f"{self.examples} test examples ({self.low:.0%} … {self.high:.0%}); chance is "
            f"{self.chance:.0%}"
        ]
        return lines + self.warnings()

    def warnings(self) -> list[str]:
        """Answers that were left out, and controls that are not shown to be worse."""
        left_out = [f"answers left out: {count} {why}" for why, count in self.left_out.items()]
        return left_out + [
            f"{CONTROLS[name]} tell the functions apart as well as the probe: this map may show "
            "the wording of the suite, not functions"
            for name in ("words", "place")
            if self.controls[name].holds is not True
        ]
