"""Do learned gates keep what they promise on questions they were not learned from?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from headatlas.checks.gating.gates import (
    GATES,
    HARD,
    by_question,
    closed_head_vectors,
    gate_matrix,
    seeds_of,
)
from headatlas.checks.measure import (
    Answers,
    Keep,
    Questions,
    Report,
    answer,
    answer_as_dict,
    compute_always,
    no_report,
    per_prefix,
)
from headatlas.checks.results.gating import HeldOut, harmless_bound

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.tasks import Task

SOFT_NAMES = ("G", "G⁺", "G⁻")
NAMES = ("G", "G⁺", "G⁺" + HARD, "G⁻", "G⁻" + HARD)
"""The gates whose loss is measured; hard ones need `select` questions to choose a threshold."""

THRESHOLDS = tuple(round(0.05 + 0.1 * step, 2) for step in range(10))
"""Where gates are cut to make them hard; one of these is chosen for each seed, on `select`."""

SELECT_QUESTIONS = 16
"""`select` questions on which the thresholds of a seed are compared."""


def passes_of(name: str) -> int:
    """How often `held_out` and `best_seed` report for gates of a seed."""
    return 1 + name.endswith(HARD) * len(THRESHOLDS)


def held_out_passes(gates: Map) -> int:
    """How often `held_out` reports."""
    return int(gates.data.sizes["seed"]) * sum(map(passes_of, NAMES))


@dataclass(frozen=True)
class Cut:
    """The threshold of a seed's hard gates with the lowest loss on `select` questions."""

    threshold: float
    loss: float
    untouched: float


def held_out(
    model: Model,
    task: Task,
    gates: Map,
    names: Sequence[str] = NAMES,
    *,
    limit: int = 32,
    level: float = 0.95,
    gain: float = math.nan,
    report: Report = no_report,
    keep: Keep = compute_always,
) -> tuple[HeldOut, ...]:
    """Compare the untouched model with gates made soft and hard, on test questions of each seed."""
    seeds = seeds_of(gates)
    questions = {
        seed: Questions.of(model, task, "test", seed, limit, per_prefix(limit)) for seed in seeds
    }
    plain: dict[int, Answers] = {}
    answers: dict[str, dict[int, Answers]] = {name: {} for name in names}
    heads_on: dict[str, list[float]] = {name: [] for name in names}
    cuts: dict[str, list[Cut]] = {name: [] for name in names}
    for seed in seeds:
        ask = partial(answer_as_dict, model, questions[seed])
        stored = keep(f"untouched, seed {seed}", partial(ask, None))
        plain[seed] = Answers.from_dict(stored)
        vectors = closed_head_vectors(model, task, gates, seed)
        for name in names:
            threshold = 0.5
            if name.endswith(HARD):
                cuts[name].append(choose_cut(model, task, gates, name, seed, report, keep))
                threshold = cuts[name][-1].threshold
            gate = gate_matrix(gates, name, seed, threshold)
            stored = keep(f"{name}, seed {seed}", partial(ask, gate, vectors))
            answers[name][seed] = Answers.from_dict(stored)
            heads_on[name].append(_mean_gate(gates, name, seed, threshold))
            report(1, f"seed {seed}, {name}")
    rows = [_row("untouched", plain, plain, questions, 1.0, [], level)]
    rows += [
        _row(name, answers[name], plain, questions, float(np.mean(on)), cuts[name], level, gain)
        for name, on in heads_on.items()
    ]
    return tuple(rows)


def choose_cut(
    model: Model,
    task: Task,
    gates: Map,
    name: str,
    seed: int,
    report: Report = no_report,
    keep: Keep = compute_always,
) -> Cut:
    """The best threshold of a seed's hard gates, and the untouched model's loss."""
    threshold, loss = best_threshold(model, task, gates, name, seed, report, keep)

    def untouched() -> float:
        return -float(answer(model, _select_questions(model, task), None).logprob.mean())

    return Cut(threshold, loss, keep("untouched, select", untouched))


def _select_questions(model: Model, task: Task) -> Questions:
    return Questions.of(model, task, "select", 0, SELECT_QUESTIONS, SELECT_QUESTIONS // 2)


def best_threshold(
    model: Model,
    task: Task,
    gates: Map,
    name: str,
    seed: int,
    report: Report = no_report,
    keep: Keep = compute_always,
) -> tuple[float, float]:
    """The threshold with the lowest loss on `select` questions, and that loss.

    Of equally good thresholds it is the one nearest to 0.5.
    """
    questions = _select_questions(model, task)
    vectors = closed_head_vectors(model, task, gates, seed)
    measured: dict[bytes, float] = {}  # a gap between gates makes several thresholds alike
    losses: dict[float, float] = {}
    for threshold in THRESHOLDS:
        gate = gate_matrix(gates, name, seed, threshold)

        def loss(gate: Tensor = gate) -> float:
            key = gate.numpy().tobytes()
            if key not in measured:
                measured[key] = -float(answer(model, questions, gate, vectors).logprob.mean())
            return measured[key]

        words = f"seed {seed}, {name}, cut at {threshold:.2f}"
        losses[threshold] = keep(f"{words}, select", loss)
        report(1, words)
    best = min(THRESHOLDS, key=lambda threshold: (losses[threshold], abs(threshold - 0.5)))
    return best, losses[best]


def best_seed(
    model: Model,
    task: Task,
    gates: Map,
    name: str,
    *,
    limit: int = 64,
    report: Report = no_report,
) -> int:
    """The seed whose gates have the lowest loss on `select` questions."""
    questions = Questions.of(model, task, "select", 0, limit)
    losses: dict[int, float] = {}
    for seed in seeds_of(gates):
        vectors = closed_head_vectors(model, task, gates, seed)
        hard = name.endswith(HARD)
        threshold = best_threshold(model, task, gates, name, seed, report)[0] if hard else 0.5
        answers = answer(model, questions, gate_matrix(gates, name, seed, threshold), vectors)
        losses[seed] = -float(answers.logprob.mean())
        report(1, f"seed {seed}")
    return min(losses, key=lambda seed: losses[seed])


def _row(
    name: str,
    answers: dict[int, Answers],
    plain: dict[int, Answers],
    questions: dict[int, Questions],
    heads_on: float,
    cuts: Sequence[Cut],
    level: float,
    gain: float = math.nan,
) -> HeldOut:
    losses = by_question(
        questions, {seed: -seed_answers.logprob for seed, seed_answers in answers.items()}
    )
    before = by_question(
        questions, {seed: -seed_answers.logprob for seed, seed_answers in plain.items()}
    )
    added = by_question(
        questions,
        {
            seed: plain[seed].logprob - seed_answers.logprob
            for seed, seed_answers in answers.items()
        },
    )
    change, untouched = added.change(level), before.seed_means
    bounds = np.array([harmless_bound(loss, gain) for loss in untouched])
    return HeldOut(
        gates=name,
        loss=float(losses.seed_means.mean()),
        accuracy=float(np.mean([seed_answers.exact.mean() for seed_answers in answers.values()])),
        change=change.mean,
        low=change.low,
        high=change.high,
        better=int((added.seed_means < 0).sum()),
        seeds=len(answers),
        questions=min(len(seed_questions.names) for seed_questions in questions.values()),
        heads_on=heads_on,
        prefixes=min(len(seed_questions.batches) for seed_questions in questions.values()),
        untouched=float(untouched.mean()),
        thresholds=tuple(cut.threshold for cut in cuts),
        select_loss=float(np.mean([cut.loss for cut in cuts])) if cuts else float("nan"),
        select_untouched=float(np.mean([cut.untouched for cut in cuts])) if cuts else float("nan"),
        working=int((added.seed_means <= bounds).sum()) if cuts else 0,
        gain=gain,
    )


def _mean_gate(gates: Map, name: str, seed: int, threshold: float) -> float:
    existing = np.isfinite(gates[GATES[name.removesuffix(HARD)]].sel(seed=seed).to_numpy())
    return float(gate_matrix(gates, name, seed, threshold).numpy()[existing].mean())
