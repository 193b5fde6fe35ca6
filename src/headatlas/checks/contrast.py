"""Does a contrast keep the one and forget the other, on questions that it was not learned from?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from headatlas.checks.measure import Questions, answer
from headatlas.checks.results.contrast import Contrasted
from headatlas.stats.intervals import share_interval

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.tasks import Task

FORGOTTEN = 0.8
"""The share of its accuracy that a forgotten task loses, at least."""

RETAINED = 0.6
"""The share of its accuracy that a retained task keeps, at least."""

CAN_DO = 0.1
"""Accuracy from which a model can do a task at all; guessing reaches a few percent at most."""


def check_contrast(
    model: Model,
    retain: Task,
    forget: Task,
    gates: Map,
    learned_from: Sequence[str],
    *,
    limit: int = 64,
) -> Contrasted:
    """Measure both tasks of a pair, untouched and under the learned gates of every seed."""
    after: dict[str, list[float]] = {"retain": [], "forget": []}
    before: dict[str, float] = {}
    counts = []
    for side, task in (("retain", retain), ("forget", forget)):
        questions = Questions.of(model, task, "test", 0, limit)
        counts.append(len(questions.names))
        before[side] = float(answer(model, questions, None).exact.mean())
        for values in gates["gate"].transpose("seed", ...).to_numpy():
            gate = torch.tensor(values, dtype=torch.float32).nan_to_num(1.0)
            after[side].append(float(answer(model, questions, gate).exact.mean()))
    means = (before["retain"], np.mean(after["retain"]), before["forget"], np.mean(after["forget"]))
    retain_before, retain_after, forget_before, forget_after = (float(mean) for mean in means)
    intervals = [share_interval(float(mean), min(counts)) for mean in means]
    return Contrasted(
        retain=retain.name,
        forget=forget.name,
        learned_from=tuple(learned_from),
        retain_before=retain_before,
        retain_after=retain_after,
        forget_before=forget_before,
        forget_after=forget_after,
        questions=min(counts),
        seeds=len(after["retain"]),
        retain_before_interval=intervals[0],
        retain_after_interval=intervals[1],
        forget_before_interval=intervals[2],
        forget_after_interval=intervals[3],
        possible=is_possible(retain_before, forget_before),
        holds=holds(retain_before, retain_after, forget_before, forget_after),
    )


def is_possible(retain_before: float, forget_before: float) -> bool:
    """Whether the untouched model can do both tasks: there is something to keep and to lose."""
    return retain_before > CAN_DO and forget_before > CAN_DO


def holds(
    retain_before: float, retain_after: float, forget_before: float, forget_after: float
) -> bool | None:
    """Whether enough is forgotten and enough is kept; `None` if there is nothing to lose."""
    if not is_possible(retain_before, forget_before):
        return None
    forgotten = forget_after <= (1 - FORGOTTEN) * forget_before
    return forgotten and retain_after >= RETAINED * retain_before
