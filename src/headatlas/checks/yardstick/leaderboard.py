"""Maps of one model side by side: their faithfulness, compared question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import nan

import numpy as np

from headatlas.checks.results.about import ERROR
from headatlas.checks.results.faithfulness import Faithfulness
from headatlas.checks.results.leaderboard import Leaderboard, Standing
from headatlas.checks.yardstick.overall import TaskScores, corrected, over_tasks
from headatlas.errors import HeadAtlasError
from headatlas.stats.faithfulness import HIGHER_IS_BETTER
from headatlas.stats.intervals import Change, change_of, p_of


def rank_maps(
    results: Sequence[Faithfulness],
    seconds: Mapping[str, float],
    *,
    left_out: Sequence[str] = (),
    other_models: Sequence[str] = (),
) -> Leaderboard:
    """All maps of a model, judged with the same replacement and measure.

    `seconds` is the time that maps took, by name. Maps of a task are compared on the same resamples
    of the same questions: of those that were judged on different questions, or are of different
    tasks of one name, the largest group is ranked, or the one with most questions. The others join
    those that are `left_out` already. `other_models` are those with a board of their own.
    """
    kinds = {(one.model_hash, one.replacement, one.measure) for one in results}
    if len(kinds) != 1:
        raise HeadAtlasError(
            "a leaderboard needs results of one model with one replacement and one measure; there "
            f"are {len(kinds)} kinds."
        )
    groups, unranked = _largest_groups(results)
    tasks = {own[0].about.task: TaskScores(own) for own in groups}
    rows = [row for task in tasks.values() for row in _standings(task, seconds)]
    overall, pairs = over_tasks(tasks)
    first = results[0]
    return Leaderboard(
        first.about.model,
        first.model_hash,
        first.replacement,
        first.measure,
        max(one.questions for own in groups for one in own),
        tuple(rows),
        overall,
        pairs,
        (*left_out, *unranked),
        tuple(other_models),
    )


def _largest_groups(
    results: Sequence[Faithfulness],
) -> tuple[list[list[Faithfulness]], list[str]]:
    """For every task the maps that are ranked, and a note on every map that is not."""
    groups: dict[str, dict[tuple[str, ...], list[Faithfulness]]] = {}
    for result in results:
        groups.setdefault(result.about.task, {}).setdefault(result.comparable, []).append(result)
    chosen, notes = [], []
    for own in groups.values():
        ranked = max(own.values(), key=lambda some: (len(some), some[0].questions))
        chosen.append(ranked)
        for group in own.values():
            if group is not ranked:
                same = group[0].task_hash == ranked[0].task_hash
                reason = "judged on other questions" if same else "of another task of that name"
                notes += [f"{one.about.map} ({reason})" for one in group]
    return chosen, notes


def _beaten_chance(task: TaskScores) -> dict[tuple[int, str], bool | None]:
    """Whether a map is better than shuffled orders, by its number and a score.

    What shuffled orders differ by is taken from those of all maps of the task; corrected for the
    number of maps.
    """
    found: dict[tuple[int, str], bool | None] = {}
    numbers = range(len(task.results))
    for score in HIGHER_IS_BETTER:
        above = [task.above_chance(score, number) for number in numbers]
        p = corrected([p_of(*own) for own in above], [task.level(number) for number in numbers])
        for number in numbers:
            shown = p[number] <= ERROR  # NaN: not shown
            found[number, score] = above[number][0] > 0 if shown else None
    return found


def _standings(task: TaskScores, seconds: Mapping[str, float]) -> list[Standing]:
    """The maps of one task."""
    beaten_chance = _beaten_chance(task)
    shown = {score: _shown_better(task, score) for score in HIGHER_IS_BETTER}
    return [
        Standing(
            result.about.task,
            result.method,
            result.about.map,
            {score: own.value for score, own in result.scores.items()},
            {score: beaten_chance[number, score] for score in HIGHER_IS_BETTER},
            {score: _behind(task, score, number) for score in HIGHER_IS_BETTER},
            {score: _better_maps(task, shown[score], number) for score in HIGHER_IS_BETTER},
            result.about.level,
            result.reliability,
            result.forward_passes,
            seconds.get(result.about.map, nan),
        )
        for number, result in enumerate(task.results)
    ]


def _shown_better(task: TaskScores, score: str) -> set[tuple[int, int]]:
    """Pairs of maps of which the first is better, corrected for all pairs of the task."""
    pairs = list(combinations(range(len(task.results)), 2))
    ahead = [task.ahead(score, *pair) for pair in pairs]
    p = corrected(
        [p_of(mean, [variance]) for mean, variance in ahead], [task.level(*pair) for pair in pairs]
    )
    return {
        pair if mean > 0 else (pair[1], pair[0])
        for pair, (mean, _), own in zip(pairs, ahead, p, strict=True)
        if own <= ERROR
    }


def _better_maps(task: TaskScores, shown: set[tuple[int, int]], number: int) -> tuple[str, ...]:
    """The maps that are shown to be better than one."""
    return tuple(task.results[one].about.map for one, other in sorted(shown) if other == number)


def _behind(task: TaskScores, score: str, number: int) -> Change:
    """How much better the map with the best mean is than one."""
    sign = 1.0 if HIGHER_IS_BETTER[score] else -1.0
    values = [sign * task.value(score, other) for other in range(len(task.results))]
    if np.isnan(values).any():
        return Change(nan, nan, nan)
    best = int(np.argmax(values))
    mean, variance = task.ahead(score, best, number)
    return change_of(mean, [variance], task.level(best, number))
