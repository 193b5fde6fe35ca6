"""Results of the yardstick side by side: which map to trust for which use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headatlas.checks.results.faithfulness import USUAL
from headatlas.maps.result import Result
from headatlas.stats.faithfulness import HIGHER_IS_BETTER
from headatlas.stats.intervals import Change

USES = {
    "circuit": "to find a small circuit",
    "removable": "to find what can be removed",
    "gain": "to find what harms",
}
"""What a map may be used for, by the score that tells how well it serves."""


@dataclass(frozen=True)
class Standing:
    """A map on its task: its scores, what it cost, and how far the best map is ahead of it.

    `beats_chance` tells of every score whether it is better than that of orders shuffled within
    layers (`None`: not shown). `behind` is how much better the best map of the task is, on the same
    questions; 0 … 0 for the best map itself. `seconds` is the time that the map took to compute,
    `forward_passes` the number of passes of one example; NaN where not known.
    """

    task: str
    method: str
    map: str
    scores: dict[str, Change]
    beats_chance: dict[str, bool | None]
    behind: dict[str, Change]
    reliability: float
    forward_passes: float
    seconds: float

    def serves(self, score: str) -> bool:
        """Whether the map beats chance, and no other map of the task is shown to be better."""
        return self.beats_chance[score] is True and self.behind[score].above is not True


@dataclass(frozen=True)
class Leaderboard(Result):
    """Maps of several methods on one or more tasks of a model, judged on the same questions.

    >>> print(*atlas.leaderboard().summary(), sep="\\n")  # doctest: +SKIP
    """

    kind: ClassVar[str] = "leaderboard"
    figures: ClassVar[tuple[str, ...]] = ("leaderboard",)

    model: str
    replacement: str
    measure: str
    questions: int
    rows: tuple[Standing, ...]

    @property
    def file_name(self) -> str:
        words = [word for word in (self.replacement, self.measure) if word not in USUAL]
        return "-".join(["leaderboard", *words])

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.task for row in self.rows))

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.method for row in self.rows))

    def best(self, score: str) -> list[tuple[str, int, float]]:
        """The methods that have a map of every task, best first: with the number of tasks on which
        they serve, and their mean score."""
        found = []
        for method in self.methods:
            own = [row for row in self.rows if row.method == method]
            if {row.task for row in own} != set(self.tasks):
                continue
            serving = len({row.task for row in own if row.serves(score)})
            mean = float(np.mean([row.scores[score].mean for row in own]))
            found.append((method, serving, mean))
        sign = 1 if HIGHER_IS_BETTER[score] else -1
        return sorted(found, key=lambda one: (-one[1], -sign * one[2]))

    def summary(self) -> list[str]:
        """Which map to trust for which use, a sentence each."""
        return [self._sentence(score, use) for score, use in USES.items()]

    def _sentence(self, score: str, use: str) -> str:
        best = self.best(score)
        number = len(self.tasks)
        if len(best) < 2:
            return f"{use.capitalize()}: fewer than two methods have a map of every task."
        if best[0][1] == 0:
            return (
                f"{use.capitalize()}, trust no map: none is shown to be better than heads shuffled "
                f"within layers on any of the {_tasks(number)}."
            )
        method, serving, mean = best[0]
        rest = [f"{name} {count}" for name, count, _ in best[1:] if count > 0]
        others = f" (others: {', '.join(rest)})" if rest else ""
        return (
            f"{use.capitalize()}, trust {method}: on {serving} of {_tasks(number)} it beats heads "
            f"shuffled within layers and no map is shown to be better{others}; mean {mean:.2f}."
        )


def _tasks(number: int) -> str:
    return "1 task" if number == 1 else f"{number} tasks"
