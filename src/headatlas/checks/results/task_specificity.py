"""Results of removing one task's heads and measuring all tasks."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import ClassVar

from headatlas.checks.results.faithfulness import USUAL
from headatlas.maps.naming import joint_name
from headatlas.maps.result import Result
from headatlas.stats.intervals import Change


@dataclass(frozen=True)
class TaskSpecificity(Result):
    """Remove the first `heads` heads of a map of task A (row), measure task B (column).

    `loss` is the part of what the model's heads do for B that is lost,
    (y(all) − y(without A's heads)) / (y(all) − y(none)): 0 if nothing changes, 1 if B is left as
    without any head. `advantage` is the mean of the diagonal minus the mean of all else: how much
    more a task loses with its own heads than with those of another. Intervals are over questions
    and few-shot prompts; `p` is the share of all assignments of the sets of heads to tasks with an
    advantage as high. `shared` is the share of heads that two tasks' sets have in common, on
    average over pairs.

    >>> atlas.specificity("math.gating", "syntax.gating").advantage  # doctest: +SKIP
    Change(mean=0.31, low=0.12, high=0.50)
    """

    kind: ClassVar[str] = "task specificity"
    figures: ClassVar[tuple[str, ...]] = ("task-specificity",)

    model: str
    method: str
    maps: tuple[str, ...]
    map_hashes: tuple[str, ...]
    tasks: tuple[str, ...]
    heads: int
    questions: int
    replacement: str
    measure: str
    loss: tuple[tuple[Change, ...], ...]
    advantage: Change
    p: float
    shared: float

    @property
    def file_name(self) -> str:
        words = [word for word in (self.replacement, self.measure) if word not in USUAL]
        return "-".join([f"{joint_name(self.maps)}.specificity", *words])

    @property
    def own(self) -> float:
        """What tasks lose with their own heads, on average."""
        return sum(self.loss[i][i].mean for i in range(len(self.tasks))) / len(self.tasks)

    def summary(self) -> list[str]:
        """One sentence: whether tasks need their own heads more than those of others."""
        verdicts = {
            True: "tasks lose more with their own heads",
            False: "tasks lose MORE with other tasks' heads",
            None: "tasks are not shown to lose more with their own heads",
        }
        found = self.advantage
        if isnan(found.mean):
            unable = [task for i, task in enumerate(self.tasks) if isnan(self.loss[i][i].mean)]
            return [
                f"{self.method}, specificity: unknown, since the model needs no head for "
                f"{', '.join(unable)}."
            ]
        return [
            f"{self.method}, specificity over {len(self.tasks)} tasks ({', '.join(self.tasks)}), "
            f"{self.heads} heads each, of which two tasks share {self.shared:.0%}: "
            f"{verdicts[found.above]}, {self.own:.0%} of what heads do, against "
            f"{self.own - found.mean:.0%} with another task's: {found.mean:+.2f} "
            f"({found.low:+.2f} … {found.high:+.2f}); p = {self.p:.2g} over all assignments of the "
            "sets to tasks"
        ]
