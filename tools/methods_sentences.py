"""What leaderboards say of cost and of models, in sentences that claim only what is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import isnan

import numpy as np

import headatlas as ha
from headatlas.stats.clustered import LEVEL
from headatlas.stats.intervals import Change, mean_change

EXACT, ESTIMATED = "ablation (mean)", "attribution"
"""The maps whose cost is compared: every removal measured, and all estimated at once."""


def cost_sentence(board: ha.Leaderboard) -> str:
    """What the estimate of all removals at once saves, and whether its CPR is another."""
    rows = {(row.task, row.method): row for row in board.rows}
    tasks = [task for task in board.tasks if {(task, EXACT), (task, ESTIMATED)} <= set(rows)]
    if not tasks:
        return f"No task has maps of {EXACT} and {ESTIMATED}, so that their cost is not compared."
    pairs = [(rows[task, ESTIMATED], rows[task, EXACT]) for task in tasks]
    share = float(np.mean([one.forward_passes / two.forward_passes for one, two in pairs]))
    costs = "an unknown share" if isnan(share) else f"{share:.1%}"
    return (
        f"{ESTIMATED.capitalize()} takes {costs} of the forward passes of {EXACT}; its CPR is "
        f"{_differs(difference(board, ESTIMATED, EXACT, tasks), len(tasks))}."
    )


def difference(
    board: ha.Leaderboard, one: str, other: str, tasks: Sequence[str], level: float = LEVEL
) -> Change:
    """The CPR of one method minus that of another, with Student's interval over tasks."""
    cpr = {(row.task, row.method): row.scores["cpr"].mean for row in board.rows}
    values = np.array([cpr[task, one] - cpr[task, other] for task in tasks])
    return mean_change(values, tasks, level=level)


def _differs(change: Change, tasks: int) -> str:
    over = "1 task" if tasks == 1 else f"{tasks} tasks"
    if change.above is None:
        interval = "no interval" if isnan(change.low) else f"{change.low:+.2f} … {change.high:+.2f}"
        return f"not shown to differ ({change.mean:+.2f} on average over {over}; {interval})"
    word, sign = ("higher", 1) if change.above else ("lower", -1)
    low, high = sorted((sign * change.low, sign * change.high))
    return f"{word} by {sign * change.mean:.2f} on average over {over} ({low:.2f} … {high:.2f})"


def models_sentence(found: Mapping[str, ha.Leaderboard]) -> str:
    """Which methods serve on most tasks of every model, and whether models are shown to differ.

    `found` are the leaderboards by the name of the model.
    """
    words = [f"{_serving(board)} on {model}" for model, board in found.items()]
    return f"By CPR the first are {'; '.join(words)}. {_differing(found)}"


def _serving(board: ha.Leaderboard) -> str:
    """The methods that serve on most tasks."""
    counts = {
        method: len({r.task for r in board.rows if r.method == method and r.serves("cpr")})
        for method in board.methods
    }
    most = max(counts.values(), default=0)
    if most == 0:
        return "none"
    names = [method for method, count in counts.items() if count == most]
    return f"{', '.join(names)} (on {most} of {len(board.tasks)} tasks)"


def _differing(found: Mapping[str, ha.Leaderboard]) -> str:
    if len(found) < 2:
        return "One model says nothing of others."
    opposite = opposite_orders(found)
    if not opposite:
        return (
            "Models are not shown to differ: no two methods are shown to be in one order on a "
            "model and in the opposite order on another (intervals over the tasks of both, "
            "corrected for the number of pairs)."
        )
    words = [
        f"{one} is above {other} on {model} and below it on {second}"
        for one, other, model, second in opposite
    ]
    return f"Models differ: {'; '.join(words)} (intervals over the tasks of both)."


def opposite_orders(found: Mapping[str, ha.Leaderboard]) -> list[tuple[str, str, str, str]]:
    """Two methods, the model on which the first has the higher CPR, and that on which the second.

    Both orders must be shown on the tasks that all four maps are of; the intervals are corrected
    for the number of comparisons (Bonferroni).
    """
    compared = []
    for (model, board), (second, others) in combinations(found.items(), 2):
        cells = _cells(board) & _cells(others)
        for one, other in combinations(sorted({method for _, method in cells}), 2):
            tasks = [task for task in board.tasks if {(task, one), (task, other)} <= cells]
            if len(tasks) > 1:
                compared.append((one, other, model, second, tasks))
    level = 1 - (1 - LEVEL) / max(len(compared), 1)
    opposite = []
    for one, other, model, second, tasks in compared:
        shown = [
            difference(found[name], one, other, tasks, level).above for name in (model, second)
        ]
        if shown == [True, False]:
            opposite.append((one, other, model, second))
        if shown == [False, True]:
            opposite.append((other, one, model, second))
    return opposite


def _cells(board: ha.Leaderboard) -> set[tuple[str, str]]:
    return {(row.task, row.method) for row in board.rows}
