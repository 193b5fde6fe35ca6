"""Results of contrastive gating."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headatlas.checks.results.verdict import HOLDS, all_of
from headatlas.maps.naming import joint_name
from headatlas.maps.result import Result
from headatlas.stats.ability import Ability, ability_by_accuracy
from headatlas.stats.intervals import Change
from headatlas.stats.paired_shares import Interval, PairedShares
from headatlas.stats.retention import FORGOTTEN, RETAINED

IMPOSSIBLE = "the model cannot do both"


@dataclass(frozen=True)
class Contrasted(Result):
    """Accuracy (exact targets) of a pair of tasks on test questions, untouched and under the gates.

    `…_after` are means over seeds, `…_by_seed` the seeds' own; `…_interval` are 95 % intervals over
    questions, clustered by the demonstrations they follow, and over seeds (with one seed they speak
    of its gates alone). `…_correlation` is that of before and after; `…_chance` what always giving
    the task's most common target reaches. `…_shuffled` are the accuracies under gates shuffled
    within every layer, by draw. Verdicts are read from these numbers. Where the model cannot do
    both tasks, no gates may have been learned: then there are no `seeds` and no draws, and what
    would be after is NaN.
    """

    kind: ClassVar[str] = "contrasted pair"

    retain: str
    forget: str
    learned_from: tuple[str, ...]
    retain_before: float
    retain_after: float
    forget_before: float
    forget_after: float
    questions: int
    seeds: int
    retain_before_interval: Interval
    retain_after_interval: Interval
    forget_before_interval: Interval
    forget_after_interval: Interval
    prefixes: int
    retain_by_seed: tuple[float, ...]
    forget_by_seed: tuple[float, ...]
    retain_correlation: float
    forget_correlation: float
    retain_chance: float
    forget_chance: float
    retain_shuffled: tuple[float, ...] = ()
    forget_shuffled: tuple[float, ...] = ()

    @property
    def possible(self) -> bool:
        """Whether the untouched model can do both tasks: there is something to keep and to lose."""
        sides = (
            (self.retain_before_interval[0], self.retain_chance),
            (self.forget_before_interval[0], self.forget_chance),
        )
        return all(ability_by_accuracy(low, chance) is Ability.CAN_DO for low, chance in sides)

    @property
    def retained_margin(self) -> Change:
        """Retained accuracy after − 0.6 · before, with its interval: above 0 is enough."""
        return PairedShares(
            self.retain_before,
            self.retain_after,
            self.retain_before_interval,
            self.retain_after_interval,
            self.retain_correlation,
        ).compare(RETAINED)

    @property
    def forgotten_margin(self) -> Change:
        """Forgotten accuracy after − 0.2 · before, with its interval: below 0 is enough."""
        return PairedShares(
            self.forget_before,
            self.forget_after,
            self.forget_before_interval,
            self.forget_after_interval,
            self.forget_correlation,
        ).compare(1 - FORGOTTEN)

    @property
    def selective(self) -> bool | None:
        """Whether the learned gates keep more, relative to what they forget, than shuffled ones.

        That is: retained − forgotten accuracy, as a mean over seeds, is above that of every
        shuffled draw. `None` without draws. Gates that are no better than shuffled ones are above
        four draws in one of five cases by chance alone: this is a necessary condition, not a proof.
        """
        draws = zip(self.retain_shuffled, self.forget_shuffled, strict=True)
        differences = [round(kept - lost, 12) for kept, lost in draws]
        if not differences:
            return None
        return round(self.retain_after - self.forget_after, 12) > max(differences)

    @property
    def holds(self) -> bool | None:
        """Whether enough is kept and enough is forgotten, and not just as well by shuffled gates.

        `None` if the intervals cannot tell, if shuffled gates do as well, or if the model cannot do
        both tasks.
        """
        if not self.possible:
            return None
        enough = all_of(self.retained_margin.above, self.forgotten_margin.below)
        return None if enough and self.selective is False else enough

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        return HOLDS[self.holds] if self.possible else IMPOSSIBLE


@dataclass(frozen=True)
class ContrastCheck(Result):
    """Every tested pair of a contrast; `maps` names the maps whose gates were tested.

    >>> atlas.contrast([("antonym:instruction", "antonym:icl")]).contrasts  # doctest: +SKIP
    """

    kind: ClassVar[str] = "contrast check"
    figures: ClassVar[tuple[str, ...]] = ("contrast",)

    model: str
    maps: tuple[str, ...]
    contrasts: tuple[Contrasted, ...]

    @property
    def file_name(self) -> str:
        return joint_name(self.maps)

    def summary(self) -> list[str]:
        """How many of the pairs that the model can do hold, how many do not, and what is open."""
        possible = [pair.holds for pair in self.contrasts if pair.possible]
        if not possible:
            return ["there is no pair whose two tasks the model can both do"]
        return [
            f"holds for {possible.count(True)} of {len(possible)} pairs that the model can do; "
            f"does not hold for {possible.count(False)}, inconclusive for "
            f"{possible.count(None)}"
        ]
