"""Results of the yardstick side by side: which map to trust for which use."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan
from typing import ClassVar

import numpy as np

from headatlas.checks.results.about import ERROR, percent
from headatlas.checks.results.faithfulness import USUAL
from headatlas.maps.naming import safe_name, short_name
from headatlas.maps.result import Result
from headatlas.stats.faithfulness import HIGHER_IS_BETTER
from headatlas.stats.intervals import Change

USES = {
    "circuit": "to find a small circuit",
    "removable": "to find what can be removed",
    "gain": "to find what harms",
}
"""What a map may be used for, by the score that tells how well it serves."""

NOTHING = {
    "circuit": "no small circuit is shown to do any part of",
    "removable": "no half of the heads is shown to be removable with less than a quarter of the "
    "faithfulness changed, on",
    "gain": "no removal of heads is shown to improve",
}
"""What is said where no map finds what it is to be used for; a number of tasks follows."""

LEAST_CHANGE = 0.25
"""What is removable changes the faithfulness by less than a quarter on average: the upper end of
the interval of `removable` is below this. Fixed before any result was looked at."""


@dataclass(frozen=True)
class Standing:
    """A map on its task: its scores, what it cost, and how it compares with the other maps.

    `beats_chance` tells of every score whether it is better than that of orders shuffled within
    layers (`None`: not shown), corrected for all maps of the task (Holm). `behind` is how much
    better the map with the best mean is, on the same questions. `better_maps` are those of the task
    that are shown to be better, of all pairs of its maps (Holm). `level` is that of the intervals.
    `seconds` is the time that the map took to compute, `forward_passes` the number of passes of one
    example; NaN where not known.
    """

    task: str
    method: str
    map: str
    scores: dict[str, Change]
    beats_chance: dict[str, bool | None]
    behind: dict[str, Change]
    better_maps: dict[str, tuple[str, ...]]
    level: float
    reliability: float
    forward_passes: float
    seconds: float

    @property
    def percent(self) -> str:
        """The level of the intervals as it is printed."""
        return percent(self.level)

    def finds(self, score: str) -> bool:
        """Whether the map finds what it is to be used for at all: a circuit that does some of the
        task, heads whose removal changes less than `LEAST_CHANGE`, or heads whose removal helps."""
        value = self.scores[score]
        if score == "removable":
            return value.high < LEAST_CHANGE
        return score not in USES or value.low > 0

    def serves(self, score: str) -> bool:
        """Whether the map finds what is wanted, beats chance, and no other map of the task is shown
        to be better."""
        return (
            self.finds(score) and self.beats_chance[score] is True and not self.better_maps[score]
        )


@dataclass(frozen=True)
class Leaderboard(Result):
    """Maps of several methods on one or more tasks of a model, judged on the same questions.

    `left_out` are maps that were judged and are not ranked, with the reason; `other_models` those
    of the folder that have a leaderboard of their own.

    >>> print(*atlas.leaderboard().summary(), sep="\\n")  # doctest: +SKIP
    """

    kind: ClassVar[str] = "leaderboard"
    figures: ClassVar[tuple[str, ...]] = ("leaderboard",)

    model: str
    model_hash: str
    replacement: str
    measure: str
    questions: int
    rows: tuple[Standing, ...]
    left_out: tuple[str, ...] = ()
    other_models: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        words = [word for word in (self.replacement, self.measure) if word not in USUAL]
        if self.other_models:
            words.append(safe_name(f"{short_name(self.model)}-{self.model_hash[:8]}"))
        return "-".join(["leaderboard", *words])

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.task for row in self.rows))

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.method for row in self.rows))

    @property
    def incomplete(self) -> tuple[str, ...]:
        """The methods that do not have a map of every task."""
        return tuple(method for method in self.methods if not self._is_complete(method))

    def _is_complete(self, method: str) -> bool:
        return {row.task for row in self.rows if row.method == method} == set(self.tasks)

    def best(self, score: str) -> list[tuple[str, int, float]]:
        """The methods that have a map of every task, best first: with the number of tasks on which
        they serve, and their mean score over those tasks that have one."""
        found = []
        for method in self.methods:
            if not self._is_complete(method):
                continue
            own = [row for row in self.rows if row.method == method]
            serving = len({row.task for row in own if row.serves(score)})
            means = [row.scores[score].mean for row in own]
            known = [mean for mean in means if not isnan(mean)]
            found.append((method, serving, float(np.mean(known)) if known else nan))
        sign = 1 if HIGHER_IS_BETTER[score] else -1
        return sorted(found, key=lambda one: (-one[1], isnan(one[2]), -sign * one[2]))

    def uses(self) -> list[str]:
        """Which map to trust for which use, a sentence each."""
        return [self._sentence(score, use) for score, use in USES.items()]

    def summary(self) -> list[str]:
        """Which map to trust for which use, and what to keep in mind."""
        lines = self.uses()
        lines.append(
            f"Heads were judged by replacing the removed ones by {self.replacement}, which favours "
            "maps that were made with the same replacement."
        )
        if self.left_out:
            lines.append(f"Not ranked: {', '.join(self.left_out)}.")
        return lines

    def _sentence(self, score: str, use: str) -> str:
        best, tasks = self.best(score), _all_of(len(self.tasks))
        partly = f" (no map of every task: {', '.join(self.incomplete)})" if self.incomplete else ""
        use = use.capitalize()
        if len(best) < 2:
            return f"{use}: fewer than two methods have a map of every task{partly}."
        most = best[0][1]
        if most == 0:
            complete = [row for row in self.rows if row.method not in self.incomplete]
            if not any(row.finds(score) for row in complete):
                return f"{use}, trust no map: {NOTHING[score]} {tasks}{partly}."
            if not any(row.beats_chance[score] for row in complete):
                return (
                    f"{use}, trust no map: none is shown to be better than heads shuffled within "
                    f"layers on {tasks}{partly}."
                )
            return (
                f"{use}, trust no map: none finds it, beats heads shuffled within layers, and is "
                f"not shown to be worse than another, on {tasks}{partly}."
            )
        if most < tasks_needed(len(self.tasks)):
            return (
                f"{use}, trust no map: none serves on more than {_some_of(most, len(self.tasks))}, "
                f"which can be chance{partly}."
            )
        first = [one for one in best if one[1] == most]
        rest = [f"{name} {count}" for name, count, _ in best if 0 < count < most]
        others = f" (others: {', '.join(rest)})" if rest else ""
        each = "it beats" if len(first) == 1 else "each beats"
        return (
            f"{use}, trust {_joined([name for name, _, _ in first])}: on "
            f"{_some_of(most, len(self.tasks))} {each} heads shuffled within layers and no map is "
            f"shown to be better{others}; mean "
            f"{_joined([f'{mean:.2f}' for _, _, mean in first])}{partly}."
        )


def tasks_needed(tasks: int) -> int:
    """On how many of all tasks a map has to serve to be trusted.

    On each it beats shuffled orders by chance with a probability of at most 2.5 %; that it does so
    on as many tasks must have at most 5 %.

    >>> [tasks_needed(number) for number in (1, 2, 3, 6, 14, 15)]
    [1, 1, 2, 2, 2, 3]
    """
    from scipy.stats import binom

    return next(n for n in range(1, tasks + 1) if binom.sf(n - 1, tasks, ERROR / 2) <= ERROR)


def _all_of(number: int) -> str:
    return "the one task" if number == 1 else f"any of the {number} tasks"


def _some_of(some: int, number: int) -> str:
    return "the one task" if number == 1 else f"{some} of {number} tasks"


def _joined(words: list[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
