"""Ordered toggling: do heads do what their scores say?

Heads are sorted by a score. Starting from G⁺, the first k of them are set to 0, and separately to
1; the curve is log P(target | set to 0) − log P(target | set to 1). It falls for facilitation,
stays near 0 for irrelevance, and rises for interference until the interfering heads run out (Nam
et al., arXiv 2505.13737).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from headatlas.checks.held_out import closed_head_vectors, gate_matrix, seeds_of
from headatlas.checks.measure import (
    Keep,
    Questions,
    Report,
    answer,
    compute_always,
    no_report,
)
from headatlas.checks.results.gating import Curve, Toggling
from headatlas.maps.order import Head, heads_by
from headatlas.maps.roles import SCORES, THRESHOLD
from headatlas.stats.clustered import mean_se

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.tasks import Task

MAX_SHARE_OF_FALL = 0.15
"""How much of facilitation's fall the curve of irrelevance may reach and still count as flat."""

POINTS = 6
CURVE_QUESTIONS = 8
"""Questions per seed at the points of a curve."""


def toggle(
    model: Model,
    task: Task,
    gates: Map,
    *,
    limit: int = 32,
    points: int = POINTS,
    report: Report = no_report,
    keep: Keep = compute_always,
) -> Toggling:
    """Toggle heads in the order of each score, on test questions that differ between seeds.

    The ends are measured with `limit` questions per seed; the points before, which no verdict
    depends on, with at most `CURVE_QUESTIONS` of them.
    """
    seeds = seeds_of(gates)
    grid = _grid(int(np.isfinite(gates["facilitation"].isel(seed=0)).sum()), points)
    questions = {seed: Questions.of(model, task, "test", seed, limit) for seed in seeds}
    few = min(limit, CURVE_QUESTIONS)
    curve_questions = {seed: Questions.of(model, task, "test", seed, few) for seed in seeds}
    vectors = {seed: closed_head_vectors(model, task, gates, seed) for seed in seeds}
    curves = []
    for score in SCORES:
        change, by_question, counts = [], [], []
        for seed in seeds:
            line = []
            count = int((gates[score].sel(seed=seed) >= THRESHOLD).sum())
            ordered = heads_by(gates[score].sel(seed=seed))
            points_of_seed = [*((k, curve_questions[seed]) for k in grid), (count, questions[seed])]
            for k, batch in points_of_seed:
                gate = gate_matrix(gates, "G⁺", seed)
                toggled = partial(_toggled, model, batch, gate, ordered[:k], vectors[seed])
                name = f"{score}, seed {seed}, {k} heads, {len(batch.names)} questions"
                moved = np.array(keep(name, toggled))
                line.append(float(moved.mean()))
                report(1, f"{score}, seed {seed}, {k} heads")
            change.append(line[:-1])
            counts.append(count)
            by_question.append((moved, questions[seed].names))
        ends = [float(difference.mean()) for difference, _ in by_question]
        concerned = [each for each, count in zip(by_question, counts, strict=True) if count]
        low, high = _interval(ends, concerned)
        lines = tuple(tuple(line) for line in change)
        end, heads = float(np.mean(ends)), float(np.mean(counts))
        curves.append(Curve(score, tuple(grid), lines, end, low, high, heads))
    fewest = min(len(batch.names) for batch in questions.values())
    return Toggling(len(seeds), fewest, tuple(curves), verdicts(curves))


def verdicts(curves: list[Curve]) -> dict[str, bool | None]:
    """Whether F falls, N rises and R stays flat beside F's fall; `None` if inconclusive."""
    by_score = {curve.score: curve for curve in curves}
    fall, rise, flat = (by_score[s] for s in ("facilitation", "interference", "irrelevance"))
    falls, rises = _has_sign(fall, -1), _has_sign(rise, 1)
    small = bool(abs(flat.end) <= MAX_SHARE_OF_FALL * abs(fall.end))
    return {
        "facilitation": falls,
        "interference": rises,
        "irrelevance": small if falls and flat.count else None,
    }


def _has_sign(curve: Curve, sign: int) -> bool | None:
    if curve.low > 0 or curve.high < 0:
        return bool(curve.end * sign > 0)
    return None


def _toggled(
    model: Model, questions: Questions, start: Tensor, heads: list[Head], vectors: Tensor | None
) -> list[float]:
    """Log-probability of every question with some heads at 0 minus that with them at 1."""
    off, on = start.clone(), start.clone()
    for head in heads:
        off[head], on[head] = 0.0, 1.0
    without, with_them = (answer(model, questions, gate, vectors).logprob for gate in (off, on))
    moved: list[float] = (without - with_them).tolist()
    return moved


def _interval(
    ends: list[float], by_question: list[tuple[Any, tuple[str, ...]]]
) -> tuple[float, float]:
    """95 % interval of the mean over seeds and questions: the variances of both add up."""
    from scipy.stats import t

    if not by_question:
        return float("nan"), float("nan")
    values = np.concatenate([difference for difference, _ in by_question])
    names = [name for _, questions in by_question for name in questions]
    variance = mean_se(values, names) ** 2
    df = len(set(names)) - 1
    if len(ends) > 1:
        variance += mean_se(np.array(ends), [str(i) for i in range(len(ends))]) ** 2
        df = min(df, len(ends) - 1)
    half_width = float(t.ppf(0.975, df)) * float(np.sqrt(variance))
    mean = float(np.mean(ends))
    return mean - half_width, mean + half_width


def _grid(heads: int, points: int) -> list[int]:
    """Numbers of heads to toggle, from one to all, evenly on a logarithmic scale."""
    return sorted({int(k) for k in np.geomspace(1, heads, points).round()})


def toggling_passes(gates: Map, points: int = POINTS) -> int:
    """How often `toggle` reports, at most."""
    return len(SCORES) * int(gates.data.sizes["seed"]) * (points + 1)
