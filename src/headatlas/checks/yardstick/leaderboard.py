"""Maps of one model side by side: their faithfulness, compared question by question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan

import numpy as np

from headatlas.checks.results.faithfulness import Faithfulness
from headatlas.checks.results.leaderboard import Leaderboard, Standing
from headatlas.errors import HeadAtlasError
from headatlas.stats.faithfulness import HIGHER_IS_BETTER
from headatlas.stats.intervals import Change
from headatlas.stats.resampling import bootstrap_change, equal_weights, resampled_weights


def rank_maps(results: Sequence[Faithfulness], seconds: Mapping[str, float]) -> Leaderboard:
    """All maps of a model, judged with the same replacement and measure.

    `seconds` is the time that maps took, by name. Maps of a task are compared on the same resamples
    of the same questions.
    """
    kinds = {(one.about.model, one.replacement, one.measure) for one in results}
    if len(kinds) != 1:
        raise HeadAtlasError(
            "a leaderboard needs results of one model with one replacement and one measure; there "
            f"are {len(kinds)} kinds."
        )
    groups: dict[tuple[str, ...], list[Faithfulness]] = {}
    for result in results:
        groups.setdefault(result.comparable, []).append(result)
    tasks = [own[0].about.task for own in groups.values()]
    for task in tasks:
        if tasks.count(task) > 1:
            raise HeadAtlasError(
                f"the maps of '{task}' were judged on different questions: check them again with "
                "the same number."
            )
    rows = [row for own in groups.values() for row in _standings(own, seconds)]
    ((model, replacement, measure),) = kinds
    questions = max(result.questions for result in results)
    return Leaderboard(model, replacement, measure, questions, tuple(rows))


def _standings(results: list[Faithfulness], seconds: Mapping[str, float]) -> list[Standing]:
    """The maps of one task."""
    prefixes = results[0].prefixes
    weights = resampled_weights(prefixes)
    means = [result.curve.scores(equal_weights(len(prefixes))) for result in results]
    resampled = [result.curve.scores(weights) for result in results]
    behind: list[dict[str, Change]] = [{} for _ in results]
    for score, high in HIGHER_IS_BETTER.items():
        sign = 1.0 if high else -1.0
        values = [sign * float(mean[score][0]) for mean in means]
        best = int(np.argmax(values))
        for number, own in enumerate(behind):
            ahead = sign * (resampled[best][score] - resampled[number][score])
            own[score] = bootstrap_change(
                values[best] - values[number],
                ahead,
                len(set(prefixes)),
                results[number].about.level,
            )
    return [
        Standing(
            result.about.task,
            result.method,
            result.about.map,
            {score: own.value for score, own in result.scores.items()},
            {score: own.better.above for score, own in result.scores.items()},
            behind[number],
            result.reliability,
            result.forward_passes,
            seconds.get(result.about.map, nan),
        )
        for number, result in enumerate(results)
    ]
