"""Does a contrast keep the one and forget the other, on questions that it was not learned from?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from headatlas.checks.measure import Questions, answer
from headatlas.stats.clustered import share_interval

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


@dataclass(frozen=True)
class Contrasted:
    """Accuracy (exact targets) on test questions, untouched and under the gates; seeds' means."""

    retain: str
    forget: str
    learned_from: list[str]
    retain_before: float
    retain_after: float
    forget_before: float
    forget_after: float
    questions: int
    seeds: int

    @property
    def possible(self) -> bool:
        """Whether the untouched model can do both at all: there is something to keep and lose."""
        return self.retain_before > CAN_DO and self.forget_before > CAN_DO

    @property
    def holds(self) -> bool | None:
        """Whether enough is forgotten and enough is kept; `None` if there is nothing to lose."""
        return (
            None
            if not self.possible
            else (
                self.forget_after <= (1 - FORGOTTEN) * self.forget_before
                and self.retain_after >= RETAINED * self.retain_before
            )
        )

    def as_dict(self) -> dict[str, Any]:
        """All numbers; 95 % intervals are over questions."""
        intervals = {
            f"{name}_interval": list(share_interval(getattr(self, name), self.questions))
            for name in ("retain_before", "retain_after", "forget_before", "forget_after")
        }
        return asdict(self) | intervals | {"possible": self.possible, "holds": self.holds}


def check_contrast(
    model: Model,
    retain: Task,
    forget: Task,
    gates: Map,
    learned_from: list[str],
    *,
    limit: int = 64,
) -> Contrasted:
    """Ask both tasks of a pair, untouched and under the learned gates of every seed."""
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
    return Contrasted(
        retain=retain.name,
        forget=forget.name,
        learned_from=learned_from,
        retain_before=before["retain"],
        retain_after=float(np.mean(after["retain"])),
        forget_before=before["forget"],
        forget_after=float(np.mean(after["forget"])),
        questions=min(counts),
        seeds=len(after["retain"]),
    )
