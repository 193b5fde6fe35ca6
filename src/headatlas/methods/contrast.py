"""Contrastive gating: heads that keep one form of a task and forget another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.errors import DivergedError
from headatlas.maps import Map
from headatlas.methods.choosing import choose_gates
from headatlas.methods.encoding import EncodedBatches
from headatlas.methods.fitting import (
    FitSettings,
    existing_heads,
    first_theta,
    fit_gates,
)
from headatlas.methods.method import Inputs, Method, Part, Report, provenance, verified_coordinates
from headatlas.methods.settings import (
    check_counts,
    check_first_gates,
    check_learning_rate,
    check_numbers,
)
from headatlas.models.edit import Edit
from headatlas.tasks.pairs import TaskPairs

if TYPE_CHECKING:
    from headatlas.models.model import Model


@dataclass(frozen=True)
class Contrast(Method[TaskPairs]):
    """Learn one gate matrix that keeps some tasks and forgets others (Nam et al., 2505.13737).

    Loss = max(log P(forget), log P(retain) − `margin`) − log P(retain) − λ · mean(clamp(θ, −4, 4))
    with λ = −`regularization`: each question to be forgotten counts until it is `margin` nats less
    likely than the retained questions are on average; heads that neither needs are pushed off. The
    first gates are drawn uniformly from the range `initial`. The learned matrix is `gate`. With
    several pairs, updates take them in turn. The fit stops early once a whole turn has, on average,
    forgotten the share `stop_at` of the margin. With `keep_best`, the gates are not those of the
    last update but those of the path that keep and forget best on `select` questions of the pairs.
    `Contrast.published()` is the paper's schedule, without early stopping and with the last gates.

    >>> Contrast.published().steps
    500
    """

    steps: int = 200
    batch_size: int = 8
    learning_rate: tuple[float, float] = (0.3, 0.05)
    regularization: float = 0.1
    margin: float = 5.0
    initial: tuple[float, float] = (0.9, 1.0)
    clamp: float = 4.0
    max_grad_norm: float | None = 1.0
    beta2: float = 0.95
    stop_at: float | None = 0.95
    keep_best: bool = True

    name: ClassVar[str] = "contrast"
    version: ClassVar[int] = 4
    variable: ClassVar[str] = "gate"
    subject: ClassVar[type] = TaskPairs

    def __post_init__(self) -> None:
        check_counts(self.name, steps=self.steps, batch_size=self.batch_size)
        check_learning_rate(self.learning_rate)
        check_first_gates(self.initial)
        check_numbers(
            self.name,
            margin=self.margin,
            regularization=self.regularization,
            clamp=self.clamp,
            max_grad_norm=self.max_grad_norm,
            stop_at=self.stop_at,
        )
        check_numbers(self.name, below=1, least_allowed=True, beta2=self.beta2)

    @classmethod
    def published(cls, **changes: Any) -> Contrast:
        """The schedule of the paper."""
        schedule = cls(
            steps=500,
            batch_size=64,
            learning_rate=(0.1, 0.01),
            initial=(0.0, 1.0),
            beta2=0.999,
            stop_at=None,
            keep_best=False,
        )
        return replace(schedule, **changes)

    def reports(self, part: Part) -> int:
        """One report per update."""
        return self.steps

    def check(self, model: Model, task: TaskPairs, seeds: int = 1) -> list[str]:
        for pair in task.for_tokenizer(model.tokenizer):
            for side in pair:
                EncodedBatches(model, side, self.batch_size, 0)[0]
        return []

    def run(
        self,
        model: Model,
        task: TaskPairs,
        seed: int = 0,
        *,
        part: Part | None = None,
        report: Report | None = None,
        inputs: Inputs | None = None,
    ) -> Map:
        """The gates of one seed."""
        coordinates = verified_coordinates(model, seed)
        task = task.for_tokenizer(model.tokenizer)
        pairs = [
            tuple(EncodedBatches(model, side, self.batch_size, seed) for side in pair)
            for pair in task
        ]
        exists = existing_heads(model.spec)

        def loss(gate: Tensor, step: int) -> Tensor:
            turn, pair = divmod(step, len(pairs))
            retained, forgotten = (
                model.score(batches[turn], Edit(gate=gate)).mean() for batches in pairs[pair]
            )
            floor = retained.detach().mean() - self.margin
            return torch.maximum(forgotten, floor).mean() - retained.mean()

        def on_step(step: int, value: float) -> None:
            if report is not None:
                report(f"seed {seed}, update {step + 1}, loss {value:.3f}")

        def all_forgotten(losses: NDArray[np.float32]) -> bool:
            if self.stop_at is None or len(losses) < len(pairs):
                return False
            return float(losses[-len(pairs) :].mean()) <= -self.stop_at * self.margin

        settings = FitSettings(
            self.steps,
            self.learning_rate,
            -self.regularization,
            self.clamp,
            self.max_grad_norm,
            self.beta2,
        )
        start = first_theta(model.spec, task.hash, seed, *self.initial)
        try:
            fitted = fit_gates(start, exists, loss, settings, on_step, all_forgotten)
        except DivergedError as error:
            raise DivergedError(f"seed {seed}: {error}") from error
        chosen = choose_gates(model, task, fitted, seed) if self.keep_best else None
        learned = fitted.theta.sigmoid() if chosen is None else chosen.gate
        updates = int(np.isfinite(fitted.losses).sum()) if chosen is None else chosen.updates
        gate = learned.where(exists, torch.nan).double().numpy()
        facts = {
            "retain": [kept.name for kept in task.retain],
            "forget": [lost.name for lost in task.forget],
            "gates_chosen_on": "last update" if chosen is None else "select",
        }
        return Map.of(
            {"gate": (("seed", "layer", "head"), gate[None])},
            provenance(model, task, self, seed) | facts,
            coordinates
            | {"loss": (("seed", "step"), fitted.losses[None]), "updates": (("seed",), [updates])},
        )
