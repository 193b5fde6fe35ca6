"""Specificity: the heads of every task's map, in equal numbers, removed on all tasks' questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from headatlas.checks.results.task_specificity import TaskSpecificity
from headatlas.checks.yardstick.order import judged_order
from headatlas.checks.yardstick.questions import RemovalQuestions
from headatlas.errors import HeadAtlasError
from headatlas.maps.labels import method_label
from headatlas.stats.arrays import FloatArray
from headatlas.stats.assignment import own_advantages, share_as_high
from headatlas.stats.intervals import Change, Variance, change_of
from headatlas.stats.resampling import bootstrap_change, resampled_weights

if TYPE_CHECKING:
    from headatlas.checks.measure import Keep, Report
    from headatlas.maps import Map
    from headatlas.maps.order import Head
    from headatlas.models.model import Model
    from headatlas.tasks import Task

SHARE = 0.05
"""The share of heads that is removed, unless another is asked for."""


def check_specificity(
    model: Model,
    maps: Sequence[Map],
    tasks: Sequence[Task],
    *,
    share: float,
    questions: int,
    options: Mapping[str, str],
    keep: Keep,
    report: Report,
) -> TaskSpecificity:
    """Remove the first heads of every map, and measure every map's task."""
    sets = _sets(maps, model, share)
    losses = []
    for task in tasks:
        asked = RemovalQuestions(model, task, questions, options["replacement"], options["measure"])
        values = keep(task.name, partial(_measured, asked, sets, model))
        losses.append(_Losses(np.array(values), asked.prefixes))
        report(1, task.name)
    table = np.array([losses.mean for losses in losses]).T  # whose heads, task measured
    equal = np.full(len(tasks), 1 / len(tasks))
    return TaskSpecificity(
        model=str(maps[0].provenance["model"]),
        method=method_label(maps[0]),
        maps=tuple(head_map.name for head_map in maps),
        map_hashes=tuple(head_map.digest for head_map in maps),
        tasks=tuple(task.name for task in tasks),
        heads=len(sets[0]),
        questions=max(own.questions for own in losses),
        replacement=options["replacement"],
        measure=options["measure"],
        loss=tuple(tuple(own.change(row) for own in losses) for row in range(len(sets))),
        advantage=_advantage(losses),
        p=share_as_high(own_advantages(table, equal)),
        shared=fmean(len(set(one) & set(other)) / len(one) for one, other in combinations(sets, 2)),
    )


def _sets(maps: Sequence[Map], model: Model, share: float) -> list[tuple[Head, ...]]:
    """The first heads of every map."""
    if not 0 < share < 1:
        raise HeadAtlasError(f"the share of heads to remove is between 0 and 1, not {share}.")
    count = max(1, round(share * len(model.spec.heads())))
    return [tuple(judged_order(head_map, model.spec)[:count]) for head_map in maps]


def _measured(
    questions: RemovalQuestions, sets: Sequence[Sequence[Head]], model: Model
) -> list[list[float]]:
    """What every question scores with all heads, with none, and without each set."""
    every = model.spec.heads()
    left = [[head for head in every if head not in set(removed)] for removed in sets]
    values: list[list[float]] = questions.values([every, [], *left]).tolist()
    return values


class _Losses:
    """What a task loses with each set of heads, also on resampled questions."""

    def __init__(self, values: FloatArray, prefixes: Sequence[int]) -> None:
        self.questions, self._prefixes = len(prefixes), len(set(prefixes))
        whole, empty, *removed = values
        lost, needed = whole - np.array(removed), whole - empty  # set question, question
        scale = float(needed.mean()) if needed.mean() > 0 else float("nan")
        self.mean = lost.mean(1) / scale  # set
        # a ratio of means, linearised: its variance is known even if a resample needs no head
        residual = lost - self.mean[:, None] * needed
        weights = resampled_weights(prefixes)
        self._resampled = self.mean[:, None] + residual @ weights.T / scale  # set draw

    def change(self, row: int) -> Change:
        """The loss with one set, with its interval."""
        return bootstrap_change(float(self.mean[row]), self._resampled[row], self._prefixes)

    def advantage(self, own: int) -> tuple[float, Variance]:
        """How much more is lost with the task's own heads than with the mean of others', and the
        variance of that."""
        value = _own_minus_others(self.mean[:, None], own)[0]
        spread = float(np.var(_own_minus_others(self._resampled, own), ddof=1))
        prefixes = self._prefixes
        if prefixes < 2:
            return float(value), (float("nan"), 1.0)
        return float(value), (spread * prefixes / (prefixes - 1), prefixes - 1.0)


def _own_minus_others(losses: FloatArray, own: int) -> FloatArray:
    return np.asarray(losses[own] - np.delete(losses, own, axis=0).mean(0))


def _advantage(losses: Sequence[_Losses]) -> Change:
    """The mean over tasks, whose questions are independent of each other."""
    found = [own.advantage(number) for number, own in enumerate(losses)]
    number = len(found)
    parts = [(variance / number**2, freedom) for _, (variance, freedom) in found]
    return change_of(fmean(value for value, _ in found), parts)
