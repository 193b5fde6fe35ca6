"""Maps of one model side by side: their faithfulness, compared question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import nan

import numpy as np

from headatlas.checks.results.about import ERROR
from headatlas.checks.results.faithfulness import Faithfulness
from headatlas.checks.results.leaderboard import Leaderboard, Standing
from headatlas.errors import HeadAtlasError
from headatlas.stats.arrays import FloatArray
from headatlas.stats.faithfulness import HIGHER_IS_BETTER
from headatlas.stats.intervals import Change, p_of
from headatlas.stats.multiple import holm
from headatlas.stats.orders import between_orders
from headatlas.stats.resampling import (
    bootstrap_change,
    bootstrap_variance,
    equal_weights,
    resampled_weights,
)


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
    rows = [row for own in groups for row in _standings(own, seconds)]
    first = results[0]
    return Leaderboard(
        first.about.model,
        first.model_hash,
        first.replacement,
        first.measure,
        max(one.questions for own in groups for one in own),
        tuple(rows),
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


def _corrected(p: Sequence[float], levels: Sequence[float]) -> FloatArray:
    """P-values that hold for all tests together (Holm), to compare with 0.05; those of later looks
    at a map count for more, as its intervals are wider."""
    stricter = ERROR / (1 - np.array(levels))
    return holm(np.minimum(1.0, np.array(p, float) * stricter))


def _beaten_chance(results: Sequence[Faithfulness]) -> dict[tuple[str, str], bool | None]:
    """Whether a map of a task is better than shuffled orders, by its name and a score.

    What shuffled orders differ by is taken from those of all maps of the task; corrected for the
    number of maps.
    """
    found: dict[tuple[str, str], bool | None] = {}
    levels = [one.about.level for one in results]
    for score in HIGHER_IS_BETTER:
        own = [one.scores[score] for one in results]
        between = between_orders([value.controls for value in own])
        tests = [p_of(value.better.mean, [value.from_questions, between]) for value in own]
        p = _corrected(tests, levels)
        for result, value, corrected in zip(results, own, p, strict=True):
            shown = corrected <= ERROR  # NaN: not shown
            found[result.about.map, score] = value.better.mean > 0 if shown else None
    return found


def _standings(
    results: list[Faithfulness],
    seconds: Mapping[str, float],
) -> list[Standing]:
    """The maps of one task."""
    compared, beaten_chance = _Compared(results), _beaten_chance(results)
    return [
        Standing(
            result.about.task,
            result.method,
            result.about.map,
            {score: own.value for score, own in result.scores.items()},
            {score: beaten_chance[result.about.map, score] for score in HIGHER_IS_BETTER},
            {score: compared.behind(score, number) for score in HIGHER_IS_BETTER},
            {score: compared.better_maps(score, number) for score in HIGHER_IS_BETTER},
            result.about.level,
            result.reliability,
            result.forward_passes,
            seconds.get(result.about.map, nan),
        )
        for number, result in enumerate(results)
    ]


class _Compared:
    """Maps of one task, every two of them compared on the same resamples of its questions."""

    def __init__(self, results: list[Faithfulness]) -> None:
        self._results = results
        prefixes = results[0].prefixes
        self._prefixes = len(set(prefixes))
        equal, weights = equal_weights(len(prefixes)), resampled_weights(prefixes)
        self._means = [result.curve.scores(equal) for result in results]
        self._resampled = [result.curve.scores(weights) for result in results]
        self._shown = {score: self._shown_better(score) for score in HIGHER_IS_BETTER}

    def _ahead(self, score: str, one: int, other: int) -> tuple[float, FloatArray]:
        """How much better one map is than another: on all questions, and in every resample."""
        sign = 1.0 if HIGHER_IS_BETTER[score] else -1.0
        mean = sign * (self._means[one][score][0] - self._means[other][score][0])
        return float(mean), sign * (self._resampled[one][score] - self._resampled[other][score])

    def _level(self, one: int, other: int) -> float:
        return max(self._results[one].about.level, self._results[other].about.level)

    def _shown_better(self, score: str) -> set[tuple[int, int]]:
        """Pairs of which the first is better, corrected for all pairs of the task."""
        pairs = list(combinations(range(len(self._results)), 2))
        if not pairs:
            return set()
        differences = [self._ahead(score, *pair) for pair in pairs]
        tests = [
            p_of(mean, [bootstrap_variance(resampled, self._prefixes)])
            for mean, resampled in differences
        ]
        p = _corrected(tests, [self._level(*pair) for pair in pairs])
        return {
            pair if mean > 0 else (pair[1], pair[0])
            for pair, (mean, _), corrected in zip(pairs, differences, p, strict=True)
            if corrected <= ERROR
        }

    def better_maps(self, score: str, number: int) -> tuple[str, ...]:
        """The maps that are shown to be better than one."""
        return tuple(
            self._results[one].about.map
            for one, other in sorted(self._shown[score])
            if other == number
        )

    def behind(self, score: str, number: int) -> Change:
        """How much better the map with the best mean is than one."""
        sign = 1.0 if HIGHER_IS_BETTER[score] else -1.0
        values = [sign * float(mean[score][0]) for mean in self._means]
        if np.isnan(values).any():
            return Change(nan, nan, nan)
        best = int(np.argmax(values))
        mean, resampled = self._ahead(score, best, number)
        return bootstrap_change(mean, resampled, self._prefixes, self._level(best, number))
