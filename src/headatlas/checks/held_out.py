"""Do learned gates keep what they promise on questions they were not learned from?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from headatlas.checks.measure import (
    Answers,
    Keep,
    Questions,
    Report,
    answer,
    compute_always,
    no_report,
)
from headatlas.checks.results.gating import HeldOut
from headatlas.errors import MapError
from headatlas.methods.replacement import replacement_vectors
from headatlas.stats.clustered import mean_interval

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.tasks import Task

GATES = {"G": "gate", "G⁺": "gate_plus", "G⁻": "gate_minus"}
HARD = " (hard)"
"""A hard gate is 1 where the learned one is at least 0.5, else 0."""

NAMES = tuple(name + hard for name in GATES for hard in ("", HARD))


def held_out(
    model: Model,
    task: Task,
    gates: Map,
    *,
    names: Sequence[str] = NAMES,
    limit: int = 64,
    report: Report = no_report,
    keep: Keep = compute_always,
) -> tuple[HeldOut, ...]:
    """Compare the untouched model with G, G⁺, G⁻ and their hard versions, or some of these."""
    seeds = seeds_of(gates)
    questions = Questions.of(model, task, "test", 0, limit)
    answers: dict[str, list[Answers]] = {name: [] for name in names}
    heads_on: dict[str, list[float]] = {name: [] for name in names}
    plain = Answers.from_dict(keep("untouched", partial(_stored, model, questions, None)))
    for seed in seeds:
        vectors = closed_head_vectors(model, task, gates, seed)
        for name in names:
            gate = gate_matrix(gates, name, seed)
            ask = partial(_stored, model, questions, gate, vectors)
            answers[name].append(Answers.from_dict(keep(f"{name}, seed {seed}", ask)))
            heads_on[name].append(_mean_gate(gates, name, seed))
            report(1, f"seed {seed}, {name}")
    rows = [_row("untouched", [plain], plain, questions.names, 1.0)]
    rows += [
        _row(name, answers[name], plain, questions.names, float(np.mean(heads_on[name])))
        for name in names
    ]
    return tuple(rows)


def _stored(
    model: Model, questions: Questions, gate: Tensor | None, vectors: Tensor | None = None
) -> dict[str, list[float]]:
    return answer(model, questions, gate, vectors).as_dict()


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
        answers = answer(model, questions, gate_matrix(gates, name, seed), vectors)
        losses[seed] = -float(answers.logprob.mean())
        report(1, f"seed {seed}")
    return min(losses, key=lambda seed: losses[seed])


def _row(
    name: str,
    answers: list[Answers],
    plain: Answers,
    questions: tuple[str, ...],
    heads_on: float,
) -> HeldOut:
    logprob = np.stack([each.logprob for each in answers])  # seed question
    change = plain.logprob - logprob
    low, high = mean_interval(change.mean(0), questions)
    return HeldOut(
        gates=name,
        loss=float(-logprob.mean()),
        accuracy=float(np.mean([each.exact for each in answers])),
        change=float(change.mean()),
        low=low,
        high=high,
        better=int((change.mean(1) < 0).sum()),
        seeds=len(answers),
        questions=len(questions),
        heads_on=heads_on,
    )


def gate_matrix(gates: Map, name: str, seed: int) -> Tensor:
    """A learned gate matrix by its short name (`G⁺`, `G⁻ (hard)`); missing heads are open."""
    short = name.removesuffix(HARD)
    if short not in GATES:
        raise MapError(f"no gates '{name}': there are {', '.join(GATES)}, each also with '{HARD}'.")
    values = gates[GATES[short]].sel(seed=seed).to_numpy()
    gate = torch.tensor(values, dtype=torch.float32).nan_to_num(1.0)
    return (gate >= 0.5).float() if name.endswith(HARD) else gate


def closed_head_vectors(model: Model, task: Task, gates: Map, seed: int) -> Tensor | None:
    """What replaced closed heads in the fits of a map: the same vectors, or `None` for zero."""
    settings = gates.provenance.get("settings", {})
    return replacement_vectors(model, task, settings.get("replacement", "zero"), seed)


def seeds_of(gates: Map) -> list[int]:
    """The seeds of a map."""
    return [int(seed) for seed in gates["seed"].to_numpy()]


def _mean_gate(gates: Map, name: str, seed: int) -> float:
    existing = np.isfinite(gates[GATES[name.removesuffix(HARD)]].sel(seed=seed).to_numpy())
    return float(gate_matrix(gates, name, seed).numpy()[existing].mean())
