"""Specificity and order: all functions' heads, in equal numbers, on all functions' steps."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from headatlas.checks.measure import Answers
from headatlas.checks.results.functions import Claim, Order, OrderRow, Specificity
from headatlas.checks.results.verdict import all_of
from headatlas.checks.steps import Steps
from headatlas.maps.functions import Ranked
from headatlas.maps.order import Head
from headatlas.stats.arrays import FloatArray
from headatlas.stats.assignment import own_advantages, own_smallest, share_as_high, share_as_low
from headatlas.stats.clustered import LEVEL
from headatlas.stats.intervals import Change, mean_change, welch_df
from headatlas.tasks.functions import HIGH_ORDER, LOW_ORDER

Changes = Mapping[str, FloatArray]
"""What masking each function's heads does to log P of every step."""


def equal_count(ranked: Mapping[str, Ranked], heads: Sequence[Head]) -> int:
    """How many heads of every function are masked where functions are compared with each other:
    the median of their elbows, at most half of all heads."""
    middle = round(median(each.elbow for each in ranked.values()))
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
        tuple(_mean(answers.logprob - before.logprob, steps, at, level) for at in places)
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


def order(changes: Changes, steps: Steps, heads: int, level: float = LEVEL) -> Order | None:
    """Low-order heads on high-order steps against high-order heads on low-order steps.

    `None` unless both orders have two functions. Functions that are not among the eight have no
    order.
    """
    low, high = ([name for name in changes if name in some] for some in (LOW_ORDER, HIGH_ORDER))
    if len(low) < 2 or len(high) < 2:
        return None
    low_steps, high_steps = steps.at(*low), steps.at(*high)
    down = np.mean([changes[name] for name in low], axis=0)  # step
    up = np.mean([changes[name] for name in high], axis=0)
    rows = [OrderRow(n, "high order", _mean(changes[n], steps, high_steps, level)) for n in low]
    rows += [OrderRow(n, "low order", _mean(changes[n], steps, low_steps, level)) for n in high]
    return Order(
        heads=heads,
        low_to_high=_mean(down, steps, high_steps, level),
        high_to_low=_mean(up, steps, low_steps, level),
        difference=_order_difference(changes, steps, low, high, level),
        same_steps=_same_steps(changes, steps, low, high, level),
        rows=tuple(rows),
    )


def order_claim(found: Order | None) -> Claim | None:
    """The claim holds if low → high harms more than high → low, and low-order heads harm more than
    high-order heads do on the same steps; it fails if either is surely the other way round."""
    if found is None:
        return None
    also = {
        "low → high": found.low_to_high,
        "high → low": found.high_to_low,
        "low minus high on the same steps": found.same_steps,
    }
    return Claim(found.difference, all_of(found.difference.below, found.same_steps.below), also)


def _order_difference(
    changes: Changes, steps: Steps, low: list[str], high: list[str], level: float
) -> Change:
    """Low → high minus high → low: a difference of means over two kinds of steps.

    Both the functions whose heads are masked and those whose steps are measured are draws: some
    functions' steps suffer more than others' from any loss of heads.
    """
    low_steps, high_steps = steps.at(*low), steps.at(*high)
    functions = np.array(steps.functions)
    steps_of_both = len(low_steps) + len(high_steps)
    values = np.zeros(len(steps.rows))
    difference, parts = 0.0, []
    for sign, names, measured, at in ((1, low, high, high_steps), (-1, high, low, low_steps)):
        harm = np.stack([changes[name][at] for name in names])  # function step
        by_measured = np.array([harm[:, functions[at] == name].mean() for name in measured])
        parts.append((by_measured.var(ddof=1) / len(measured), len(measured) - 1))
        mean = harm.mean()
        difference += sign * mean
        values[at] = sign * (harm.mean(0) - mean) * steps_of_both / len(at)
        parts.append((harm.mean(1).var(ddof=1) / len(names), len(names) - 1))
    return _with_sets(difference + values, steps, low_steps + high_steps, parts, level)


def _same_steps(
    changes: Changes, steps: Steps, low: list[str], high: list[str], level: float
) -> Change:
    """Low-order heads minus high-order heads, each on the steps of all other functions."""
    functions = np.array(steps.functions)
    harm = {name: np.where(functions == name, np.nan, changes[name]) for name in (*low, *high)}
    kept = steps.at(*low, *high)
    middle = np.nanmean(np.stack(list(harm.values())), axis=0)
    means, parts = [], []
    for names in (low, high):
        of_order = np.stack([harm[name] for name in names])  # function step
        strengths = np.nanmean((of_order - middle)[:, kept], axis=1)
        means.append(np.nanmean(of_order, axis=0))
        parts.append((strengths.var(ddof=1) / len(names), len(names) - 1))
    return _with_sets(means[0] - means[1], steps, kept, parts, level)


def _with_sets(
    values: FloatArray,
    steps: Steps,
    at: Sequence[int],
    parts: list[tuple[float, int]],
    level: float,
) -> Change:
    """Mean over steps; the sets of heads add variances, each with its degrees of freedom."""
    extra_se = math.sqrt(sum(variance for variance, _ in parts))
    clusters = [steps.clusters[i] for i in at]
    return mean_change(values[list(at)], clusters, extra_se, welch_df(parts), level=level)


def _mean(values: FloatArray, steps: Steps, at: Sequence[int], level: float) -> Change:
    return mean_change(values[list(at)], [steps.clusters[i] for i in at], level=level)


def _shares(places: Sequence[Sequence[int]]) -> FloatArray:
    """The share of steps that every function has."""
    counts = np.array([len(at) for at in places], float)
    return np.asarray(counts / counts.sum())
