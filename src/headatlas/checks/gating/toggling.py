"""Ordered toggling: do heads do what their scores say, and more than other heads would?

Heads are sorted by a score. Starting from G⁺, the first k of them are set to 0, and separately to
1; the curve is log P(target | set to 0) − log P(target | set to 1). It falls for facilitation,
stays near 0 for irrelevance, and rises for interference (Nam et al., arXiv 2505.13737). Toggling
many heads ruins a model whichever they are, so every curve has a band: the same with other heads of
the same layers, the nearest in output size that have neither that role nor the opposite one.
Verdicts compare the two at a fixed number of heads. (At the other points of irrelevance, where
heads without a partner are toggled too, random heads are as many, but not always of the same
layers.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from headatlas.checks.gating.gates import by_question, closed_head_vectors, gate_matrix, seeds_of
from headatlas.checks.gating.toggle_order import POINTS, ToggleOrder, curve_points, draws_per_seed
from headatlas.checks.gating.verdict import verdict
from headatlas.checks.measure import (
    Keep,
    Questions,
    Report,
    answer,
    answer_as_dict,
    compute_always,
    no_report,
    per_prefix,
)
from headatlas.checks.results.gating import Curve, Toggling, harmless_bound
from headatlas.checks.sizes import sizes_on_task
from headatlas.maps.order import Head
from headatlas.maps.roles import SCORES
from headatlas.stats.arrays import FloatArray
from headatlas.stats.intervals import Change
from headatlas.stats.nested import MIN_SEEDS
from headatlas.stats.random_sets import draw_variance, set_variance

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.tasks import Task

UNKNOWN = Change(math.nan, math.nan, math.nan)

Measure = Callable[[str, int, Sequence[Head], Questions], FloatArray]
"""Toggles heads of a seed and gives a number per question; the name identifies the pass."""

Moved = tuple[dict[int, FloatArray], dict[int, FloatArray]]
"""By seed: what the chosen heads do (question), and what random ones do (draw × question)."""


def toggle(
    model: Model,
    task: Task,
    gates: Map,
    *,
    limit: int = 32,
    level: float = 0.95,
    gain: float = math.nan,
    report: Report = no_report,
    keep: Keep = compute_always,
) -> Toggling:
    """Toggle heads in the order of each score, on test questions that differ between seeds.

    The point of the verdict is measured with `limit` questions per seed, the others with those
    after the first prefix, or after the first two if there are fewer than three seeds.
    """
    seeds = seeds_of(gates)
    draws = draws_per_seed(len(seeds))
    questions = {
        seed: Questions.of(model, task, "test", seed, limit, per_prefix(limit)) for seed in seeds
    }
    vectors = {seed: closed_head_vectors(model, task, gates, seed) for seed in seeds}
    stored = keep("output sizes", lambda: list(sizes_on_task(model, task).items()))
    sizes = {(int(layer), int(head)): float(size) for (layer, head), size in stored}

    def measure(name: str, seed: int, heads: Sequence[Head], some: Questions) -> FloatArray:
        start = gate_matrix(gates, "G⁺", seed)
        toggled = partial(_toggled, model, some, start, heads, vectors[seed])
        moved = np.array(keep(f"{name}, {len(some.names)} questions", toggled))
        report(1, name)
        return moved

    curves = []
    for score in SCORES:
        orders = {
            seed: ToggleOrder.of(
                {name: gates[name].sel(seed=seed) for name in SCORES},
                score,
                sizes,
                draws,
                f"{score}, seed {seed}",
            )
            for seed in seeds
        }
        curves.append(_curve(score, orders, sizes, questions, measure, level))
    loss = _untouched_loss(model, questions, keep)
    return Toggling(
        seeds=len(seeds),
        questions=min(len(seed_questions.names) for seed_questions in questions.values()),
        prefixes=min(len(seed_questions.batches) for seed_questions in questions.values()),
        draws=draws,
        level=level,
        untouched=loss,
        curves=tuple(curves),
        holds={curve.score: verdict(curve, harmless_bound(loss, gain)) for curve in curves},
        gain=gain,
    )


def _curve(
    score: str,
    orders: dict[int, ToggleOrder],
    sizes: Mapping[Head, float],
    questions: dict[int, Questions],
    measure: Measure,
    level: float,
) -> Curve:
    """Toggle the first heads of every seed, and their partners, at all points of the curve."""
    heads = list(sizes)
    left_out = float(np.mean([order.left_out for order in orders.values()]))
    count = float(np.mean([order.count for order in orders.values()]))
    orders = {seed: order for seed, order in orders.items() if order.heads}
    if not orders:
        return Curve(score, 0, (), (), (), 0, UNKNOWN, UNKNOWN, UNKNOWN, count, left_out)
    most = max(len(order.heads) for order in orders.values())
    numbers, fixed = curve_points(score, len(heads), most)
    few = 1 if len(orders) >= MIN_SEEDS else 2
    points = []
    for number in numbers:
        first = {seed: order.first(number) for seed, order in orders.items()}
        used_questions = {
            seed: questions[seed] if number == fixed else questions[seed].first(few)
            for seed in orders
        }
        points.append(_move(score, first, used_questions, measure))
    at = numbers.index(fixed)
    judged = {seed: order.first(fixed) for seed, order in orders.items()}
    own, control, difference = _changes(points[at], judged, heads, questions, level)
    toggled = [np.mean([min(k, len(order.heads)) for order in orders.values()]) for k in numbers]
    lines = [[moved.mean() for moved in chosen.values()] for chosen, _ in points]
    bands = [np.concatenate([draws.mean(1) for draws in random.values()]) for _, random in points]
    return Curve(
        score=score,
        seeds=len(orders),
        heads=tuple(float(number) for number in toggled),
        change=tuple(map(tuple, np.array(lines).T.tolist())),
        controls=tuple(map(tuple, np.array(bands).T.tolist())),
        verdict_at=at,
        own=own,
        control=control,
        difference=difference,
        count=count,
        left_out=left_out,
        size_ratio=float(np.mean([order.size_ratio(sizes) for order in judged.values()])),
    )


def _move(
    score: str, orders: dict[int, ToggleOrder], questions: dict[int, Questions], measure: Measure
) -> Moved:
    """Toggle the heads of every seed's order, and those of every draw."""
    chosen, random = {}, {}
    for seed, order in orders.items():
        name = f"{score}, seed {seed}, {len(order.heads)} heads"
        chosen[seed] = measure(name, seed, order.heads, questions[seed])
        nothing = np.zeros(len(questions[seed].names))
        draws = [
            measure(f"{name}, random {number}", seed, others, questions[seed])
            if others
            else nothing
            for number, others in enumerate(order.draws, 1)
        ]
        random[seed] = np.stack(draws)
    return chosen, random


def _changes(
    moved: Moved,
    orders: dict[int, ToggleOrder],
    heads: list[Head],
    questions: dict[int, Questions],
    level: float,
) -> tuple[Change, Change, Change]:
    """What the chosen heads do, what random ones do, and the difference, with their intervals."""
    chosen, random = moved
    used_questions = {seed: questions[seed] for seed in orders}
    mean = {seed: draws.mean(0) for seed, draws in random.items()}
    beyond = {seed: chosen[seed] - mean[seed] for seed in orders}
    effects = np.stack([draws.mean(1) for draws in random.values()])  # seed draw
    own, controls = zip(*(order.indicators(heads) for order in orders.values()), strict=True)
    spread = set_variance(np.stack(own), np.stack(controls), effects)
    return (
        by_question(used_questions, chosen).change(level),
        by_question(used_questions, mean).change(level, [draw_variance(effects)]),
        by_question(used_questions, beyond).change(level, [spread]),
    )


def _toggled(
    model: Model, questions: Questions, start: Tensor, heads: Sequence[Head], vectors: Tensor | None
) -> list[float]:
    """Log-probability of every question with some heads at 0 minus that with them at 1."""
    off, on = start.clone(), start.clone()
    for head in heads:
        off[head], on[head] = 0.0, 1.0
    without, with_them = (answer(model, questions, gate, vectors).logprob for gate in (off, on))
    moved: list[float] = (without - with_them).tolist()
    return moved


def _untouched_loss(model: Model, questions: dict[int, Questions], keep: Keep) -> float:
    """The loss of the untouched model on the questions of the toggling."""
    losses = []
    for seed, some in questions.items():
        stored = keep(f"untouched, seed {seed}", partial(answer_as_dict, model, some, None))
        losses.append(-np.mean(stored["logprob"]))
    return float(np.mean(losses))


def toggling_passes(gates: Map) -> int:
    """How often `toggle` reports, at most."""
    seeds = int(gates.data.sizes["seed"])
    return len(SCORES) * seeds * POINTS * (1 + draws_per_seed(seeds))
