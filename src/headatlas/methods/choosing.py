"""Which gates of a contrast's path keep one task and forget the other best.

A fit that forgets more and more finally harms what it should keep. How far to go is chosen on the
`select` questions of the tasks that are learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from headatlas.methods.encoding import encode_fitting
from headatlas.models.edit import Edit
from headatlas.stats.retention import claim_margin

if TYPE_CHECKING:
    from headatlas.methods.fitting import Fitted
    from headatlas.models.model import Model
    from headatlas.models.tokens import Tokens
    from headatlas.tasks import Task
    from headatlas.tasks.pairs import TaskPairs

QUESTIONS, BATCH_SIZE = 16, 8
"""Questions of every task, and how many of them follow the same demonstrations."""

CANDIDATES = 10
"""Number of points of a path that are tried."""

Batches = list[list["Tokens"]]


@dataclass(frozen=True)
class Chosen:
    """Gates (layer × head), the number of updates that led to them, and their margin."""

    gate: Tensor
    updates: int
    margin: float


def choose_gates(model: Model, pairs: TaskPairs, fitted: Fitted, seed: int) -> Chosen | None:
    """The gates of the path whose claims are met best, by accuracy over all pairs; of equally good
    ones the first. `None` where no question is right even without gates, or there is none."""
    sides = [
        [_batches(model, task, seed) for task in tasks] for tasks in (pairs.retain, pairs.forget)
    ]
    if not all(batches for side in sides for batches in side):
        return None
    before = [_accuracy(model, side, None) for side in sides]
    if not all(before):
        return None
    best: Chosen | None = None
    updates = int(np.isfinite(fitted.losses).sum())
    for number in _candidates(fitted):
        gate = torch.tensor(fitted.path[number])
        kept, left = (
            _accuracy(model, side, gate) / untouched
            for side, untouched in zip(sides, before, strict=True)
        )
        margin = claim_margin(kept, left)
        if best is None or margin > best.margin:
            best = Chosen(gate, min(int(fitted.points[number]), updates), margin)
    return best


def _candidates(fitted: Fitted) -> list[int]:
    """Points of the path that were reached, evenly spaced, with the last; not the start."""
    updates = int(np.isfinite(fitted.losses).sum())
    last = int(np.searchsorted(fitted.points, updates))
    return sorted({round(place) for place in np.linspace(last, 1, min(CANDIDATES, last))})


def _batches(model: Model, task: Task, seed: int) -> Batches:
    if not task.splits.get("select"):
        return []
    batches = islice(task.batches("select", BATCH_SIZE, seed, epochs=1), QUESTIONS // BATCH_SIZE)
    rows = (encode_fitting(model, batch)[1] for batch in batches)
    return [batch for batch in rows if batch]


@torch.no_grad()
def _accuracy(model: Model, tasks: Sequence[Batches], gate: Tensor | None) -> float:
    """Share of exact answers over all tasks."""
    edit = Edit() if gate is None else Edit(gate=gate)
    exact = [model.score(batch, edit).exact() for batches in tasks for batch in batches]
    return float(torch.cat(exact).float().mean())
