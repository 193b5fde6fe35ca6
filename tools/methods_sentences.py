"""What leaderboards say of cost and of models, in sentences that claim only what is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from math import isnan

import numpy as np

import headatlas as ha
from headatlas.checks.results import Faithfulness
from headatlas.checks.results.leaderboard import Pair
from headatlas.checks.yardstick.leaderboard import rank_maps

EXACT, ESTIMATED = "ablation (mean)", "attribution"
"""The maps whose cost is compared: every removal measured, and all estimated at once."""


def cost_sentence(board: ha.Leaderboard) -> str:
    """What the estimate of all removals at once saves, and whether its CPR is another."""
    rows = {(row.task, row.method): row for row in board.rows}
    tasks = [task for task in board.tasks if {(task, EXACT), (task, ESTIMATED)} <= set(rows)]
    pair = pair_of(board, ESTIMATED, EXACT)
    if not tasks or pair is None:
        return f"{ESTIMATED.capitalize()} and {EXACT} have no tasks in common to be compared on."
    costs = [
        rows[task, ESTIMATED].forward_passes / rows[task, EXACT].forward_passes for task in tasks
    ]
    share = float(np.mean(costs))
    words = "an unknown share" if isnan(share) else f"{share:.1%}"
    return (
        f"{ESTIMATED.capitalize()} takes {words} of the forward passes of {EXACT}; its mean CPR is "
        f"{_differs(pair)}."
    )


def pair_of(board: ha.Leaderboard, one: str, other: str, score: str = "cpr") -> Pair | None:
    """Two methods of a board compared, the first as seen from the second."""
    for pair in board.pairs:
        if pair.score == score and (pair.one, pair.other) == (one, other):
            return pair
        if pair.score == score and (pair.one, pair.other) == (other, one):
            return pair.turned()
    return None


def _differs(pair: Pair) -> str:
    ahead = pair.ahead
    interval = "no interval" if isnan(ahead.low) else f"{ahead.low:+.2f} … {ahead.high:+.2f}"
    if pair.better is None:
        return f"not shown to differ ({ahead.mean:+.2f}, {interval})"
    word = "higher" if pair.better else "lower"
    return f"{word} ({ahead.mean:+.2f}, {interval})"


def models_sentence(results: Mapping[str, Sequence[Faithfulness]]) -> str:
    """What comes first by CPR on the tasks and methods that all models share, and whether models
    are shown to differ. `results` are those of every model, by its name."""
    boards = shared_boards(results)
    if len(boards) < 2:
        return "One model says nothing of others."
    tasks = next(iter(boards.values())).tasks
    if not tasks:
        return "The models have no task in common."
    words = [f"{_first(board)} on {model}" for model, board in boards.items()]
    return (
        f"On {', '.join(tasks)}, by mean CPR, the methods that beat shuffled orders and are not "
        f"shown to be worse than another are {'; '.join(words)}. {_differing(boards)}"
    )


def shared_boards(results: Mapping[str, Sequence[Faithfulness]]) -> dict[str, ha.Leaderboard]:
    """Leaderboards of the tasks and methods that all models have."""
    cells = [{(one.about.task, one.method) for one in own} for own in results.values() if own]
    if not cells:
        return {}
    shared = set.intersection(*cells)
    return {
        model: rank_maps([one for one in own if (one.about.task, one.method) in shared], {})
        for model, own in results.items()
        if own and shared
    }


def _first(board: ha.Leaderboard) -> str:
    return ", ".join(one.method for one in board.trusted("cpr")) or "none"


def _differing(boards: Mapping[str, ha.Leaderboard]) -> str:
    opposite = opposite_orders(boards)
    if not opposite:
        return (
            "Models are not shown to differ: no two methods are shown to be in one order on a "
            "model and in the opposite order on another."
        )
    words = [
        f"{one} is above {other} on {model} and below it on {second}"
        for one, other, model, second in opposite
    ]
    return f"Models differ: {'; '.join(words)}."


def opposite_orders(boards: Mapping[str, ha.Leaderboard]) -> list[tuple[str, str, str, str]]:
    """Two methods, the model on which the first has the higher CPR, and that on which the other."""
    found = []
    methods = sorted({pair.one for b in boards.values() for pair in b.pairs})
    methods = sorted({*methods, *(pair.other for b in boards.values() for pair in b.pairs)})
    for (model, board), (second, others) in combinations(boards.items(), 2):
        for one, other in permutations(methods, 2):
            pairs = pair_of(board, one, other), pair_of(others, one, other)
            if None not in pairs and [pair.better for pair in pairs if pair] == [True, False]:
                found.append((one, other, model, second))
    return found
