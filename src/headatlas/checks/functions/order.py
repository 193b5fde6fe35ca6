"""Order: do low-order functions' heads matter more for high-order functions than the reverse?"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from headatlas.checks.functions.specificity import Changes, mean_at
from headatlas.checks.functions.steps import Steps
from headatlas.checks.results.functions import Claim, Order, OrderRow
from headatlas.checks.results.verdict import all_of
from headatlas.stats.arrays import FloatArray
from headatlas.stats.clustered import LEVEL
from headatlas.stats.intervals import Change, mean_change, welch_df
from headatlas.tasks.functions import HIGH_ORDER, LOW_ORDER


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
    rows = [OrderRow(n, "high order", mean_at(changes[n], steps, high_steps, level)) for n in low]
    rows += [OrderRow(n, "low order", mean_at(changes[n], steps, low_steps, level)) for n in high]
    return Order(
        heads=heads,
        low_to_high=mean_at(down, steps, high_steps, level),
        high_to_low=mean_at(up, steps, low_steps, level),
        difference=_order_difference(changes, steps, low, high, level),
        same_steps=_same_steps(changes, steps, low, high, level),
        rows=tuple(rows),
    )


def order_claim(result: Order | None) -> Claim | None:
    """The claim holds if low → high harms more than high → low, and low-order heads harm more than
    high-order heads do on the same steps; it fails if either is surely the other way round."""
    if result is None:
        return None
    also = {
        "low → high": result.low_to_high,
        "high → low": result.high_to_low,
        "low minus high on the same steps": result.same_steps,
    }
    return Claim(result.difference, all_of(result.difference.below, result.same_steps.below), also)


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
