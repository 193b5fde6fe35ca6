"""Methods over all tasks of a leaderboard: which beat chance, and which are better than others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import fsum, isnan

import numpy as np

from headatlas.checks.results.about import ERROR
from headatlas.checks.results.faithfulness import Faithfulness
from headatlas.checks.results.leaderboard import Overall, Pair
from headatlas.stats.arrays import FloatArray
from headatlas.stats.faithfulness import HIGHER_IS_BETTER, IN_UNITS
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
        self._needed = weights @ (np.array(results[0].whole_values) - results[0].empty_values)

    def value(self, score: str, number: int) -> float:
        """A score of a map."""
        return float(self._means[number][score][0])

    def value_variance(self, score: str, number: int, excess: float = 0.0) -> Variance:
        """How much it would differ with other questions; for `excess` see `_part`."""
        return self._part(self._resampled[number][score], excess)

    def ahead(
        self, score: str, one: int, other: int, *, overall: float | None = None
    ) -> tuple[float, Variance]:
        """How much better one map is than another, and the variance of that, as a part of the mean
        over tasks if that is given."""
        sign = 1.0 if HIGHER_IS_BETTER[score] else -1.0
        mean = sign * (self.value(score, one) - self.value(score, other))
        resampled = sign * (self._resampled[one][score] - self._resampled[other][score])
        return mean, self._part(resampled, 0.0 if overall is None else mean - overall)

    def _part(self, resampled: FloatArray, excess: float) -> Variance:
        """The variance of a score as a part of a mean over tasks.

        A task counts by what heads do for it, which differs between resamples too: a score that
        lies above the mean by `excess` raises it where its task counts more.
        """
        counts = excess * (self._needed - self.needed) / self.needed if excess else 0.0
        return bootstrap_variance(resampled + counts, self._prefixes)

    def above_chance(self, score: str, number: int) -> tuple[float, list[Variance]]:
        """How much better a map is than shuffled orders, and the variances of that: by other
        questions, and by other orders."""
        own = self.results[number].scores[score]
        drawn = [result.scores[score].controls for result in self.results]
        return own.better.mean, [own.from_questions, between_orders(drawn, own.controls)]

    @property
    def needed(self) -> float:
        """How much more the model scores with all heads than with none."""
        return self.results[0].needed.mean

    def level(self, *numbers: int) -> float:
        """The strictest level of the intervals of some maps."""
        return max(self.results[number].about.level for number in numbers)


def over_tasks(tasks: Mapping[str, TaskScores]) -> tuple[tuple[Overall, ...], tuple[Pair, ...]]:
    """The methods that have a map of every task, and every two of them, by every score.

    Means are over the tasks that have the score. Where it is a share of what heads do for a task, a
    task counts by how much that is: the mean is the share of all that they do, and tasks whose
    shares are mostly noise, as heads do little for them, count little. The tasks are taken as they
    are, so that what is uncertain is their questions and the shuffled orders. Corrected for the
    number of methods, and of pairs, within each score (Holm). What heads do for a task is known
    from the same questions: intervals of values and pairs allow for that, those against shuffled
    orders do not.
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


def _weights(score: str, having: Having) -> list[float]:
    """How much every task counts: by what heads do for it, or equally where the score is in units
    of the measure."""
    needed = [1.0 if score in IN_UNITS else task.needed for task, _ in having]
    return [own / sum(needed) for own in needed]


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return fsum(value * weight for value, weight in zip(values, weights, strict=True))


def _variances(parts: Sequence[Sequence[Variance]], weights: Sequence[float]) -> list[Variance]:
    """The variances of a mean over tasks, each of which has some."""
    return [
        (variance * weight**2, df)
        for own, weight in zip(parts, weights, strict=True)
        for variance, df in own
    ]


def _overall(score: str, methods: Sequence[str], having: Having) -> list[Overall]:
    rows, tests, levels = [], [], []
    weights = _weights(score, having)
    for method in methods:
        own = [(task, places[method]) for task, places in having]
        level = max(task.level(number) for task, number in own)
        values = [task.value(score, number) for task, number in own]
        mean = _mean(values, weights)
        excess = [0.0 if score in IN_UNITS else value - mean for value in values]
        variances = _variances(
            [[t.value_variance(score, n, e)] for (t, n), e in zip(own, excess, strict=True)],
            weights,
        )
        above = [task.above_chance(score, number) for task, number in own]
        advantage = _mean([better for better, _ in above], weights)
        parts = _variances([own_parts for _, own_parts in above], weights)
        value = change_of(mean, variances, level)
        rows.append((method, value, change_of(advantage, parts, level)))
        tests.append(p_of(advantage, parts))
        levels.append(level)
    return [
        Overall(method, score, value, advantage, _direction(advantage, p), len(having))
        for (method, value, advantage), p in zip(rows, corrected(tests, levels), strict=True)
    ]


def _pairs(score: str, methods: Sequence[str], having: Having) -> list[Pair]:
    rows, tests, levels = [], [], []
    weights = _weights(score, having)
    for one, other in combinations(methods, 2):
        both = [(task, places[one], places[other]) for task, places in having]
        level = max(task.level(*numbers) for task, *numbers in both)
        mean = _mean([task.ahead(score, *numbers)[0] for task, *numbers in both], weights)
        overall = None if score in IN_UNITS else mean
        ahead = [task.ahead(score, *numbers, overall=overall) for task, *numbers in both]
        parts = _variances([[variance] for _, variance in ahead], weights)
        rows.append((one, other, change_of(mean, parts, level)))
        tests.append(p_of(mean, parts))
        levels.append(level)
    return [
        Pair(score, one, other, ahead, _direction(ahead, p))
        for (one, other, ahead), p in zip(rows, corrected(tests, levels), strict=True)
    ]


def _direction(change: Change, p: float) -> bool | None:
    """Whether a change is shown to be above 0 (`False`: below); `None`: neither."""
    return change.mean > 0 if p <= ERROR else None
