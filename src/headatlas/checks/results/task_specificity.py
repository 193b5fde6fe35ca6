"""Results of removing one task's heads and measuring all tasks."""

from __future__ import annotations

from dataclasses import dataclass
from math import factorial, isnan
from statistics import fmean
from typing import ClassVar

from headatlas.checks.results.about import ERROR
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
    advantage as high, `p_low` that with one as low. A verdict needs both: questions say that these
    sets differ, assignments that it is the tasks that tell them apart. `heads` are a `share` of all
    heads. A task that the model is not shown to need its heads for has no loss (NaN), and the
    advantage is over the others. `shared` is the share of heads that two tasks' sets have in
    common, on average over pairs.

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
    share: float
    heads: int
    questions: int
    replacement: str
    measure: str
    loss: tuple[tuple[Change, ...], ...]
    advantage: Change
    p: float
    p_low: float
    shared: float

    @property
    def file_name(self) -> str:
        words = [word for word in (self.replacement, self.measure) if word not in USUAL]
        if self.share != USUAL_SHARE:
            words.insert(0, f"share-{self.share:g}")
        return "-".join([f"{joint_name(self.maps)}.specificity", *words])

    @property
    def without_loss(self) -> tuple[str, ...]:
        """The tasks that the model is not shown to need its heads for."""
        return tuple(task for i, task in enumerate(self.tasks) if isnan(self.loss[i][i].mean))

    @property
    def own(self) -> float:
        """What tasks lose with their own heads, on average over those that have a loss."""
        losses = [self.loss[i][i].mean for i in range(len(self.tasks))]
        return fmean(loss for loss in losses if not isnan(loss))

    @property
    def least_p(self) -> float:
        """The smallest p-value that these tasks can have: which set belongs to a task without a
        loss changes nothing."""
        return factorial(len(self.without_loss)) / factorial(len(self.tasks))

    @property
    def p_text(self) -> str:
        """The p-value, or that no p-value of so few tasks could be low enough."""
        return f"p = {self.p:.2g}" if self.least_p <= ERROR else "too few tasks to test"

    @property
    def own_matter(self) -> bool | None:
        """Whether tasks lose more with their own heads (`False`: less); `None`: not shown."""
        above = self.advantage.above
        p = self.p if above else self.p_low
        return above if p <= ERROR else None

    def summary(self) -> list[str]:
        """One sentence: whether tasks need their own heads more than those of others."""
        verdicts = {
            True: "tasks lose more with their own heads",
            False: "tasks lose MORE with other tasks' heads",
            None: "tasks are not shown to lose more with their own heads",
        }
        found = self.advantage
        unneeded = f"the model is not shown to need its heads for {', '.join(self.without_loss)}"
        if isnan(found.mean):
            return [f"{self.method}, specificity: unknown, since {unneeded}."]
        number = len(self.tasks) - len(self.without_loss)
        left_out = f", measured on {number} of them, since {unneeded}" if self.without_loss else ""
        too_few = f"too few tasks to test (smallest possible p {self.least_p:.2g})"
        verdict = verdicts[self.own_matter] if self.least_p <= ERROR else too_few
        return [
            f"{self.method}, specificity over {len(self.tasks)} tasks "
            f"({', '.join(self.tasks)}{left_out}), {self.questions} test questions each, "
            f"{self.heads} heads each ({self.share:.2g} of all), of which two tasks share "
            f"{self.shared:.0%}: {verdict}; {self.own:.0%} of the heads' contribution is lost, "
            f"against {self.own - found.mean:.0%} with another task's: {found.mean:+.2f} "
            f"({found.low:+.2f} … {found.high:+.2f}); p = {self.p:.2g} over all assignments of "
            "the sets to tasks"
        ]


USUAL_SHARE = 0.05
"""The share of heads that is removed unless another is asked for, which file names leave out."""
