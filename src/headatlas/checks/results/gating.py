"""Results of checking a gating map."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan
from typing import ClassVar

from headatlas.checks.results.about import MapCheck, percent
from headatlas.stats.intervals import Change
from headatlas.stats.nested import MIN_SEEDS

HARMLESS = 0.25
"""The share of the untouched model's loss, or of what it knows, that a harmless change may cost."""


def harmless_bound(untouched: float, gain: float = nan) -> float:
    """The change of the loss (nats per token) up to which nothing that matters is lost.

    A quarter of the untouched loss; or of the untouched model's `gain` over the targets of other
    questions, where that is known and less. It is 0 for a model that knows nothing.

    >>> harmless_bound(2.0), harmless_bound(2.0, 0.4), harmless_bound(2.0, -0.1)
    (0.5, 0.1, 0.0)
    """
    return HARMLESS * max(0.0, untouched if isnan(gain) else min(untouched, gain))


EXPECTED = {
    "facilitation": "fall, and by more than with matched random heads",
    "interference": "rise, and by more than with matched random heads",
    "irrelevance": "stay within the harmless bound, and not with matched random heads",
}
"""What log P(target) should do for a true map when the heads of a score are switched off."""

NOT_RELIABLE = "the map is not reliable"


@dataclass(frozen=True)
class HeldOut:
    """Loss (nats per token) and accuracy of a gate matrix on test questions, against the untouched
    model on the same questions: means over seeds. `change` of the loss has an interval from `low`
    to `high`. `better` seeds have a lower loss.

    Hard gates are 1 from a threshold on, else 0. `thresholds` (one per seed) are those with the
    lowest loss on `select` questions: `select_loss` on average, against `select_untouched`. They
    work if the loss is at most `bound` above that of the untouched model; it is in `working` seeds.
    """

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
    prefixes: int = 0
    untouched: float = float("nan")
    thresholds: tuple[float, ...] = ()
    select_loss: float = float("nan")
    select_untouched: float = float("nan")
    working: int = 0
    gain: float = nan

    @property
    def lowers(self) -> bool | None:
        """Whether the loss is surely lower than that of the untouched model; `None` if unsure."""
        return Change(self.change, self.low, self.high).below

    @property
    def bound(self) -> float:
        """The change of the loss up to which gates do no harm."""
        return harmless_bound(self.untouched, self.gain)

    @property
    def works(self) -> bool | None:
        """Whether the loss is within the bound, or lower; `None` if it is inconclusive."""
        if self.bound <= 0:
            return None
        if self.high <= self.bound:
            return True
        return False if self.low > self.bound else None

    def hard_sentence(self) -> str:
        """Whether hard gates are a working circuit, or how near to one the best threshold comes."""
        losses = f"loss {self.loss:.3f}, untouched {self.untouched:.3f}"
        cut = f"cut at {_range(self.thresholds)}"
        works = f"within the bound in {self.working} of {self.seeds} seeds"
        verdicts = {
            True: f"works ({losses}; {works})",
            False: f"does NOT work ({losses}; {works}): on select questions no threshold reached "
            f"less than {self.select_loss:.3f} (untouched {self.select_untouched:.3f})",
            None: f"inconclusive ({losses}, change {self.low:+.3f} … {self.high:+.3f}, bound "
            f"{self.bound:+.3f}; {works})",
        }
        return f"{self.gates}, {cut}: {verdicts[self.works]}"


def _range(numbers: tuple[float, ...]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low:.2f}" if low == high else f"{low:.2f} … {high:.2f}"


@dataclass(frozen=True)
class Curve:
    """The toggling curve of a score, over the `seeds` in which heads have it.

    At point i, `heads[i]` heads are toggled on average; `change` is seed × point and `controls`
    draw × point, the draws of matched random heads of all seeds. The verdict is read at the point
    `verdict_at` (a tenth of the model's heads; all that have the role for irrelevance): `own` is
    the change with the chosen heads, `control` the mean of the controls, `difference` the first
    minus the second. `count` heads have the role on average; `left_out` of these have no other head
    of their layer left to compare them with: they are toggled for irrelevance only. `size_ratio` is
    how much the controls write there, in units of what the chosen heads do: with few heads left in
    a layer, the nearest in size may be far smaller.
    """

    score: str
    seeds: int
    heads: tuple[float, ...]
    change: tuple[tuple[float, ...], ...]
    controls: tuple[tuple[float, ...], ...]
    verdict_at: int
    own: Change
    control: Change
    difference: Change
    count: float
    left_out: float
    size_ratio: float = nan

    def seeds_within(self, bound: float) -> int:
        """In how many seeds the change at the point of the verdict lies within a bound."""
        return sum(abs(seed[self.verdict_at]) <= bound for seed in self.change)

    @property
    def toggled(self) -> float:
        """The number of heads at the point of the verdict, on average."""
        return self.heads[self.verdict_at] if self.heads else 0.0


@dataclass(frozen=True)
class Toggling:
    """Toggling curves of a map and those of matched random heads, and what they say.

    Every seed has `questions` test questions of its own, after `prefixes` few-shot prefixes, and
    `draws` sets of random heads. `untouched` is the loss of the untouched model on these questions,
    `gain` how much more likely (nats per token) it finds targets than those of other questions.
    `holds` has an entry per score: `None` where it is inconclusive (no heads of that role, too few
    others to compare with, or an interval that allows for both).
    """

    seeds: int
    questions: int
    prefixes: int
    draws: int
    level: float
    untouched: float
    curves: tuple[Curve, ...]
    holds: dict[str, bool | None]
    gain: float = nan

    @property
    def bound(self) -> float:
        """The change of log P (nats per token), up or down, that counts as harmless."""
        return harmless_bound(self.untouched, self.gain)

    @property
    def scope(self) -> str:
        """What the intervals allow for."""
        return interval_scope(self.seeds, self.level)


def interval_scope(seeds: int, level: float) -> str:
    """What an interval allows for: other seeds only where there are enough of them.

    >>> interval_scope(1, 0.95)
    '95 % intervals over prefixes, questions and draws, for this seed only'
    """
    if seeds >= MIN_SEEDS:
        return f"{percent(level)} intervals over seeds, prefixes, questions and draws"
    which = "this seed" if seeds == 1 else "these seeds"
    return f"{percent(level)} intervals over prefixes, questions and draws, for {which} only"


@dataclass(frozen=True)
class GatingCheck(MapCheck):
    """Held-out loss under the learned gates, and ordered toggling.

    `warnings` say why the map cannot be trusted yet: if there are any, no score is reported to
    hold, whatever its toggling shows.

    >>> atlas.check(gates).holds["facilitation"]  # doctest: +SKIP
    True
    """

    kind: ClassVar[str] = "gating check"
    figures: ClassVar[tuple[str, ...]] = ("toggling",)

    held_out: tuple[HeldOut, ...]
    toggling: Toggling
    warnings: tuple[str, ...] = ()

    @property
    def holds(self) -> dict[str, bool | None]:
        """Whether each score is true of this map: as toggling shows, if the map is reliable."""
        if not self.warnings:
            return self.toggling.holds
        return {
            score: False if shown is False else None for score, shown in self.toggling.holds.items()
        }

    def summary(self) -> list[str]:
        """What was found: warnings, a sentence per score, one per hard circuit, and G⁺."""
        toggling = self.toggling
        draws = max(len(curve.controls) for curve in toggling.curves)
        how = (
            f"look {self.about.look}: {toggling.scope}; {toggling.questions} questions after "
            f"{toggling.prefixes} prefixes per seed, {draws} draws of random heads"
        )
        warnings = [f"{NOT_RELIABLE}: {warning}" for warning in self.warnings]
        hard = [row.hard_sentence() for row in self.held_out if row.thresholds]
        hard = hard or ["hard gates are not tested: the task has no select questions"]
        scores = [self._sentence(curve) for curve in toggling.curves]
        return [*warnings, how, *scores, *self._plus(), *hard]

    def _plus(self) -> list[str]:
        words = {
            True: "lowers the loss",
            False: "RAISES the loss",
            None: "is not shown to lower or raise the loss",
        }
        return [
            f"G⁺ {words[row.lowers]} on test questions: {row.change:+.3f} "
            f"({row.low:+.3f} … {row.high:+.3f})"
            for row in self.held_out
            if row.gates == "G⁺"
        ]

    def _sentence(self, curve: Curve) -> str:
        if not curve.count:
            return f"no head reaches the threshold of {curve.score}"
        start = f"toggling {curve.toggled:.0f} of {curve.count:.0f} heads by {curve.score}:"
        if curve.left_out:
            start = f"{start[:-1]} ({curve.left_out:.0f} have no other head to compare with):"
        if not curve.toggled:
            return f"{start} inconclusive"
        if curve.seeds < self.toggling.seeds:
            start = f"{start[:-1]} in {curve.seeds} of {self.toggling.seeds} seeds"
            start += ", with an interval for these only:" if curve.seeds < MIN_SEEDS else ":"
        size = "" if isnan(curve.size_ratio) else f" (writing {curve.size_ratio:.0%} as much)"
        effects = f"{_words(curve.own)} nats, random heads {curve.control.mean:+.2f}{size}, "
        effects += f"difference {_words(curve.difference)}"
        if curve.score == "irrelevance":
            bound = self.toggling.bound
            effects += (
                f", harmless up to {bound:.2f}: in {curve.seeds_within(bound)} of {curve.seeds}"
            )
            effects += " seeds"
        expected = EXPECTED[curve.score]
        held = self.holds[curve.score]
        unsure = NOT_RELIABLE if self.warnings else "inconclusive"
        verdicts = {
            True: f"holds (log P should {expected})",
            False: f"FAILS (log P should {expected})",
            None: unsure,
        }
        return f"{start} {effects}: {verdicts[held]}"


def _words(change: Change) -> str:
    return f"{change.mean:+.2f} ({change.low:+.2f} … {change.high:+.2f})"
