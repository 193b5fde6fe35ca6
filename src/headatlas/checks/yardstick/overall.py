"""Methods over all tasks of a leaderboard: which beat chance, and which are better than others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import isnan
from statistics import fmean

import numpy as np

from headatlas.checks.results.about import ERROR
from headatlas.checks.results.faithfulness import Faithfulness
from headatlas.checks.results.leaderboard import Overall, Pair
from headatlas.stats.arrays import FloatArray
from headatlas.stats.faithfulness import HIGHER_IS_BETTER
from headatlas.stats.intervals import Change, Variance, change_of, p_of
from headatlas.stats.multiple import holm
from headatlas.stats.orders import between_orders
from headatlas.stats.resampling import bootstrap_variance, equal_weights, resampled_weights


def corrected(p: Sequence[float], levels: Sequence[float]) -> FloatArray:
    """P-values that hold for all tests together (Holm), to compare with 0.05; those of later looks
    at a map count for more, as its intervals are wider."""
    stricter = ERROR / (1 - np.array(levels))
    return holm(np.minimum(1.0, np.array(p, float) * stricter))


class TaskScores:
    """The maps of one task, on the same resamples of its questions."""

    def __init__(self, results: Sequence[Faithfulness]) -> None:
        self.results = list(results)
        prefixes = results[0].prefixes
        self._prefixes = len(set(prefixes))
        equal, weights = equal_weights(len(prefixes)), resampled_weights(prefixes)
        self._means = [result.curve.scores(equal) for result in results]
        self._resampled = [result.curve.scores(weights) for result in results]

    def value(self, score: str, number: int) -> float:
        """A score of a map."""
        return float(self._means[number][score][0])

    def value_variance(self, score: str, number: int) -> Variance:
        """How much it would differ with other questions."""
        return bootstrap_variance(self._resampled[number][score], self._prefixes)

    def ahead(self, score: str, one: int, other: int) -> tuple[float, Variance]:
        """How much better one map is than another, and the variance of that."""
        sign = 1.0 if HIGHER_IS_BETTER[score] else -1.0
        mean = sign * (self.value(score, one) - self.value(score, other))
        resampled = sign * (self._resampled[one][score] - self._resampled[other][score])
        return mean, bootstrap_variance(resampled, self._prefixes)

    def above_chance(self, score: str, number: int) -> tuple[float, list[Variance]]:
        """How much better a map is than shuffled orders, and the variances of that: by other
        questions, and by other orders."""
        own = self.results[number].scores[score]
        drawn = [result.scores[score].controls for result in self.results]
        return own.better.mean, [own.from_questions, between_orders(drawn, own.controls)]

    def level(self, *numbers: int) -> float:
        """The strictest level of the intervals of some maps."""
        return max(self.results[number].about.level for number in numbers)


def over_tasks(tasks: Mapping[str, TaskScores]) -> tuple[tuple[Overall, ...], tuple[Pair, ...]]:
    """The methods that have a map of every task, and every two of them, by every score.

    Means are over the tasks that have the score; these tasks are taken as they are, so that what
    is uncertain is their questions and the shuffled orders. Corrected for the number of methods,
    and of pairs (Holm).
    """
    places = [
        {result.method: number for number, result in enumerate(task.results)}
        for task in tasks.values()
    ]
    methods = [name for name in places[0] if all(name in own for own in places)]
    overall, pairs = [], []
    for score in HIGHER_IS_BETTER:
        having = [
            (task, own)
            for task, own in zip(tasks.values(), places, strict=True)
            if methods and not isnan(task.value(score, own[methods[0]]))
        ]
        if having:
            overall += _overall(score, methods, having)
            pairs += _pairs(score, methods, having)
    return tuple(overall), tuple(pairs)


Having = Sequence[tuple[TaskScores, Mapping[str, int]]]
"""The tasks that have a score, each with the numbers of its maps by method."""


def _overall(score: str, methods: Sequence[str], having: Having) -> list[Overall]:
    rows, tests, levels = [], [], []
    for method in methods:
        own = [(task, places[method]) for task, places in having]
        level = max(task.level(number) for task, number in own)
        values = [task.value(score, number) for task, number in own]
        variances = [task.value_variance(score, number) for task, number in own]
        above = [task.above_chance(score, number) for task, number in own]
        advantage = fmean(mean for mean, _ in above)
        parts = _of_mean([part for _, own_parts in above for part in own_parts], len(own))
        value = change_of(fmean(values), _of_mean(variances, len(own)), level)
        rows.append((method, value, change_of(advantage, parts, level)))
        tests.append(p_of(advantage, parts))
        levels.append(level)
    return [
        Overall(method, score, value, advantage, _direction(advantage, p), len(having))
        for (method, value, advantage), p in zip(rows, corrected(tests, levels), strict=True)
    ]


def _pairs(score: str, methods: Sequence[str], having: Having) -> list[Pair]:
    rows, tests, levels = [], [], []
    for one, other in combinations(methods, 2):
        both = [(task, places[one], places[other]) for task, places in having]
        level = max(task.level(*numbers) for task, *numbers in both)
        ahead = [task.ahead(score, *numbers) for task, *numbers in both]
        mean = fmean(value for value, _ in ahead)
        parts = _of_mean([variance for _, variance in ahead], len(both))
        rows.append((one, other, change_of(mean, parts, level)))
        tests.append(p_of(mean, parts))
        levels.append(level)
    return [
        Pair(score, one, other, ahead, _direction(ahead, p))
        for (one, other, ahead), p in zip(rows, corrected(tests, levels), strict=True)
    ]


def _of_mean(variances: Sequence[Variance], tasks: int) -> list[Variance]:
    """Variances of sums over tasks as those of means."""
    return [(variance / tasks**2, df) for variance, df in variances]


def _direction(change: Change, p: float) -> bool | None:
    """Whether a change is shown to be above 0 (`False`: below); `None`: neither."""
    return change.mean > 0 if p <= ERROR else None
