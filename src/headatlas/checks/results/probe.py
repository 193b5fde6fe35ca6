"""How much the accuracy of a probe is worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from headatlas.checks.results.about import MapCheck

TEXTS = {
    "prompt": "words of the prompt",
    "last step": "text of the last step",
    "answer": "text of the answer",
    "last step and answer": "text of the last step and the answer",
    "all": "text of the question, all steps and the answer",
    "matched sentence": "last step, answer and the sentence that shares most words with them",
}
"""What a classifier of text is shown; the probe reads states that all of it may have entered."""

CONTROLS = {
    "majority": "the most common function in training",
    "place": "number and length of the step",
    "shuffled": "the probe with shuffled labels",
}
"""What else a probe's accuracy is compared with."""

VERDICTS = {True: "probe better", False: "better than the probe", None: "inconclusive"}
"""What the interval of the probe's gain over a control says: above 0, below 0, or around it."""


@dataclass(frozen=True)
class Control:
    """Accuracy of a control on the same test examples, and the probe's gain over it with its 95 %
    interval over questions. `holds`: the probe is better (`None`: inconclusive)."""

    accuracy: float
    gain: float
    low: float
    high: float
    holds: bool | None

    @property
    def verdict(self) -> str:
        """Which of the two is better, in a few words."""
        return VERDICTS[self.holds]

    @property
    def gain_text(self) -> str:
        """The gain in points, with its interval."""
        return f"{100 * self.gain:+.1f} points ({100 * self.low:+.1f} … {100 * self.high:+.1f})"


@dataclass(frozen=True)
class ProbeReport(MapCheck):
    """A probe on test questions: mean over seeds, with its 95 % interval over questions.

    All others learn from the same training questions. `texts`: classifiers of text, by what they
    are shown. `streams`: a linear probe of the residual stream at the same tokens, by the number of
    the model's blocks before it; 0 is the embeddings, which no head has touched. `controls`: the
    most common function in training (`majority`), the number of steps before this one and the
    length of the prompt (`place`), and the same probe trained on shuffled labels (`shuffled`); the
    gain over the last is the probe's selectivity. `confusion[a][b]`: share of the examples of
    function a that were taken for b. `left_out`: number of answers not used, by reason.

    The strongest text is the one with the highest accuracy on the test questions themselves, so
    that the choice favours text.

    >>> report = atlas.result(functions, "probe")  # doctest: +SKIP
    >>> report.strongest_text, report.texts[report.strongest_text].gain  # doctest: +SKIP
    ('last step and answer', 0.151)
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
    texts: dict[str, Control]
    streams: dict[int, Control]
    controls: dict[str, Control]
    confusion: tuple[tuple[float, ...], ...]
    left_out: dict[str, int] = field(default_factory=dict)

    @property
    def strongest_text(self) -> str:
        """The view of the text that tells the functions best."""
        return max(self.texts, key=lambda view: self.texts[view].accuracy)

    @property
    def over_text(self) -> Control:
        """The strongest text, and what the probe gains over it."""
        return self.texts[self.strongest_text]

    def rows(self) -> Iterator[tuple[str, Control]]:
        """Everything that the probe is compared with, each with what it is."""
        for view, control in self.texts.items():
            yield TEXTS[view], control
        for depth, control in self.streams.items():
            yield self.stream_label(depth), control
        for name, control in self.controls.items():
            yield CONTROLS[name], control

    def stream_label(self, depth: int) -> str:
        """What a probe of the residual stream reads, in a few words."""
        return f"residual stream after {depth} layers" if depth else "embeddings of the same tokens"

    def summary(self) -> list[str]:
        """The accuracy, the gain over the strongest text, what is there without heads; warnings."""
        majority = self.controls["majority"].accuracy
        text = self.over_text
        lines = [
            f"the probe tells {len(self.functions)} functions apart in {self.accuracy:.0%} of "
            f"{self.examples} test examples ({self.low:.0%} … {self.high:.0%}); chance is "
            f"{self.chance:.0%}, the most common function {majority:.0%}",
            f"the strongest text baseline ({TEXTS[self.strongest_text]}) reaches "
            f"{text.accuracy:.0%}: the probe's gain is {text.gain_text}, {text.verdict}",
        ]
        return [*lines, *self._without_heads(), *self.warnings()]

    def _without_heads(self) -> Iterator[str]:
        """What the embeddings and the residual stream reach."""
        if 0 in self.streams:
            known = self.streams[0]
            yield (
                f"the embeddings of the same tokens alone reach {known.accuracy:.0%}: the probe's "
                f"gain is {known.gain_text}, {known.verdict}"
            )
        if deeper := [depth for depth in self.streams if depth > 0]:
            best = max(deeper, key=lambda depth: self.streams[depth].accuracy)
            known = self.streams[best]
            yield (
                f"a linear probe of the residual stream reaches {known.accuracy:.0%} at best, "
                f"after {best} layers: the gain is {known.gain_text}, {known.verdict}"
            )

    def warnings(self) -> list[str]:
        """Answers that were left out, and comparisons that the probe does not win."""
        lines = [f"answers left out: {count} {why}" for why, count in self.left_out.items()]
        if not self.streams:
            lines.append("this model does not show its residual stream: heads are not compared")
        rivals = [(TEXTS[self.strongest_text], self.over_text)]
        rivals.append((CONTROLS["place"], self.controls["place"]))
        for words, control in rivals:
            if control.holds is False:
                lines.append(
                    f"{words}: tells the functions apart better than the probe does. This map may "
                    "show the wording of the suite, not functions"
                )
            elif control.holds is None:
                lines.append(
                    f"{words}: whether the probe tells the functions apart any better is "
                    f"inconclusive with {self.questions} questions. This map may show the wording "
                    "of the suite, not functions"
                )
        return lines
