"""Specificity: the heads of every task's map, in equal numbers, removed on all tasks' questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from math import nan
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from headatlas.checks.results.task_specificity import USUAL_SHARE, TaskSpecificity
from headatlas.checks.yardstick.order import judged_order
from headatlas.checks.yardstick.questions import RemovalQuestions
from headatlas.errors import HeadAtlasError
from headatlas.maps.labels import method_label
from headatlas.stats.arrays import FloatArray
from headatlas.stats.assignment import own_advantages, share_as_high, share_as_low
from headatlas.stats.intervals import Change, Variance, change_of
from headatlas.stats.ratio import linear_ratio, needed_change
from headatlas.stats.resampling import (
    bootstrap_change,
    bootstrap_variance,
    equal_weights,
    resampled_weights,
)

if TYPE_CHECKING:
    from headatlas.checks.measure import Keep, Report
    from headatlas.maps import Map
    from headatlas.maps.order import Head
    from headatlas.models.model import Model
    from headatlas.tasks import Task

SHARE = USUAL_SHARE


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
    sets = _sets(maps, tasks, model, share)
    losses = []
    for task in tasks:
        asked = RemovalQuestions(model, task, questions, options["replacement"], options["measure"])
        values = keep(asked.piece(task.name), partial(_measured, asked, sets, model))
        bounded = options["measure"] == "accuracy"
        losses.append(_Losses(np.array(values), asked.prefixes, bounded=bounded))
        report(1, task.name)
    table = np.array([losses.mean for losses in losses]).T  # whose heads, task measured
    p, p_low = _shares(table)
    return TaskSpecificity(
        model=str(maps[0].provenance["model"]),
        method=method_label(maps[0]),
        maps=tuple(head_map.name for head_map in maps),
        map_hashes=tuple(head_map.digest for head_map in maps),
        tasks=tuple(task.name for task in tasks),
        share=share,
        heads=len(sets[0]),
        questions=max(own.questions for own in losses),
        replacement=options["replacement"],
        measure=options["measure"],
        loss=tuple(tuple(own.change(row) for own in losses) for row in range(len(sets))),
        advantage=_advantage(losses),
        p=p,
        p_low=p_low,
        shared=fmean(len(set(one) & set(other)) / len(one) for one, other in combinations(sets, 2)),
    )


def _shares(table: FloatArray) -> tuple[float, float]:
    """The shares of assignments of sets to tasks with an advantage as high as the given one, and as
    low; over the tasks that have losses."""
    known = np.isfinite(table).all(0)
    if not known.any():
        return nan, nan
    advantages = own_advantages(np.where(known, table, 0.0), known / known.sum())
    return share_as_high(advantages), share_as_low(advantages)


def _sets(
    maps: Sequence[Map], tasks: Sequence[Task], model: Model, share: float
) -> list[tuple[Head, ...]]:
    """The first heads of every map."""
    if not 0 < share < 1:
        raise HeadAtlasError(f"the share of heads to remove is between 0 and 1, not {share}.")
    count = max(1, round(share * len(model.spec.heads())))
    return [
        tuple(judged_order(head_map, model.spec, task)[:count])
        for head_map, task in zip(maps, tasks, strict=True)
    ]


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

    def __init__(
        self, values: FloatArray, prefixes: Sequence[int], *, bounded: bool = False
    ) -> None:
        self.questions, self._prefixes = len(prefixes), len(set(prefixes))
        whole, empty, *removed = values
        lost, needed = whole - np.array(removed), whole - empty  # set question, question
        self.needs_heads = needed_change(whole, empty, prefixes, bounded=bounded).above is True
        if not self.needs_heads:
            lost = np.full_like(lost, np.nan)
        self.mean = linear_ratio(lost, needed, equal_weights(len(prefixes)))[0]  # set
        self._resampled = linear_ratio(lost, needed, resampled_weights(prefixes)).T  # set draw

    def change(self, row: int) -> Change:
        """The loss with one set, with its interval."""
        return bootstrap_change(float(self.mean[row]), self._resampled[row], self._prefixes)

    def advantage(self, own: int) -> tuple[float, Variance]:
        """How much more is lost with the task's own heads than with the mean of others', and the
        variance of that."""
        value = _own_minus_others(self.mean[:, None], own)[0]
        resampled = _own_minus_others(self._resampled, own)
        return float(value), bootstrap_variance(resampled, self._prefixes)


def _own_minus_others(losses: FloatArray, own: int) -> FloatArray:
    return np.asarray(losses[own] - np.delete(losses, own, axis=0).mean(0))


def _advantage(losses: Sequence[_Losses]) -> Change:
    """The mean over the tasks that the model is shown to need its heads for; their questions are
    independent of each other."""
    found = [own.advantage(number) for number, own in enumerate(losses) if own.needs_heads]
    number = len(found)
    if not found:
        return Change(nan, nan, nan)
    parts = [(variance / number**2, df) for _, (variance, df) in found]
    return change_of(fmean(value for value, _ in found), parts)
