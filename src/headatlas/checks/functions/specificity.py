"""Specificity: all functions' heads, in equal numbers, on all functions' steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from headatlas.checks.functions.steps import Steps
from headatlas.checks.measure import Answers
from headatlas.checks.results.functions import Specificity
from headatlas.maps.functions import Ranked
from headatlas.maps.order import Head
from headatlas.stats.arrays import FloatArray
from headatlas.stats.assignment import own_advantages, own_smallest, share_as_high, share_as_low
from headatlas.stats.clustered import LEVEL
from headatlas.stats.intervals import Change, mean_change

Changes = Mapping[str, FloatArray]
"""What masking each function's heads does to log P of every step."""


def equal_count(ranked: Mapping[str, Ranked], heads: Sequence[Head]) -> int:
    """How many heads of every function are masked where functions are compared with each other:
    the median of their elbows, at most half of all heads."""
    middle = round(median(ranking.elbow for ranking in ranked.values()))
    return max(1, min(middle, len(heads) // 2))


def specificity(
    masked: Mapping[str, Answers],
    before: Answers,
    steps: Steps,
    heads: int,
    level: float = LEVEL,
) -> Specificity:
    """Mask the heads of function A, measure function B: everything as tables A × B."""
    places = [steps.at(name) for name in masked]
    change = tuple(
        tuple(mean_at(answers.logprob - before.logprob, steps, at, level) for at in places)
        for answers in masked.values()
    )
    table = np.array([[cell.mean for cell in row] for row in change])
    return Specificity(
        functions=tuple(masked),
        heads=heads,
        change=change,
        accuracy_change=tuple(
            tuple(float((answers.exact - before.exact)[at].mean()) for at in places)
            for answers in masked.values()
        ),
        ranks=tuple(int(rank) for rank in (table <= np.diag(table)).sum(0)),
        p=share_as_low(own_advantages(table, _shares(places))),
        p_most=share_as_high(own_smallest(table)),
    )


def pooled_specificity(changes: Changes, steps: Steps, level: float = LEVEL) -> Change:
    """Over all steps: how much more their own function's heads do than the other functions'.

    The interval has two variances: that over questions, and that over all ways to assign the sets
    of heads to functions, as if their names meant nothing.
    """
    names = list(changes)
    places = [steps.at(name) for name in names]
    values = np.zeros(len(steps.rows))
    for name, at in zip(names, places, strict=True):
        others = np.mean([changes[other][at] for other in names if other != name], axis=0)
        values[at] = changes[name][at] - others
    table = np.array([[changes[name][at].mean() for at in places] for name in names])
    extra_se = float(own_advantages(table, _shares(places)).std())
    return mean_change(values, steps.clusters, extra_se, (len(names) - 1) ** 2, level=level)


def mean_at(values: FloatArray, steps: Steps, at: Sequence[int], level: float) -> Change:
    """The mean over some steps, with its interval."""
    return mean_change(values[list(at)], [steps.clusters[i] for i in at], level=level)


def _shares(places: Sequence[Sequence[int]]) -> FloatArray:
    """The share of steps that every function has."""
    counts = np.array([len(at) for at in places], float)
    return np.asarray(counts / counts.sum())
