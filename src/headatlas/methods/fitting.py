"""Learning gates: the training loop that gating and contrast share."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.errors import DivergedError
from headatlas.maps.convergence import SETTLED
from headatlas.models.spec import ModelSpec

POINTS = 40
"""Number of snapshots of the gates that are kept, from the start of a fit to its end."""

DIVERGED = 5.0
"""Nats above its start at which a loss, averaged over `SMOOTHED` updates, counts as diverged."""

SMOOTHED = 10

Loss = Callable[[Tensor, int], Tensor]
"""The loss of a gate matrix (layer × head) at an update, without the regularization."""

OnStep = Callable[[int, float], None]
"""Called after every update with its number and loss."""

ShouldStop = Callable[[NDArray[np.float32]], bool]
"""Whether a fit with these losses so far, one per update, has learned what it should."""


@dataclass(frozen=True)
class FitSettings:
    """How gates are fitted: by Adam, with a learning rate that falls linearly from start to end.

    `regularization` is λ: a positive one pushes every gate up, a negative one down, through the
    mean of the gates' logits clamped to ±`clamp`. λ begins as `annealing` times its own value and
    falls to it by a constant factor an update, over the first `SETTLED` of the fit. `beta2` is
    Adam's; a short fit wants a smaller one. With `patience`, the fit ends once no gate has crossed
    0.5 in that number of updates and λ has fallen.
    """

    steps: int
    learning_rate: tuple[float, float]
    regularization: float
    clamp: float = 4.0
    max_grad_norm: float | None = 1.0
    beta2: float = 0.999
    patience: int | None = None
    annealing: float = 1.0

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of an update; after the last one it has reached its end."""
        start, end = self.learning_rate
        return start + (end - start) * step / self.steps

    def regularization_at(self, step: int) -> float:
        """λ of an update."""
        left = max(0.0, 1 - step / (SETTLED * self.steps))
        return float(self.regularization * self.annealing**left)


@dataclass(frozen=True)
class Fitted:
    """Learned logits θ (layer × head), and the path to them.

    `losses` has one number per update (NaN after an early end), `path` the gates at `points`.
    """

    theta: Tensor
    losses: NDArray[np.float32]
    points: NDArray[np.int32]
    path: NDArray[np.float32]


def first_theta(
    spec: ModelSpec, task_hash: str, seed: int, low: float = 0.0, high: float = 1.0
) -> Tensor:
    """Logits of gates drawn uniformly between two numbers, by the task and the seed.

    Two tasks start from other gates, so that their maps have nothing in common to begin with.
    """
    digest = hashlib.sha256(f"{task_hash} gates {seed}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)
    gates = torch.rand(spec.n_layers, spec.n_heads, generator=generator, dtype=torch.float64)
    gates = low + (high - low) * gates
    return gates.clamp(1e-6, 1 - 1e-6).logit().float()


def existing_heads(spec: ModelSpec) -> Tensor:
    """Which places of the map (layer × head) are heads."""
    exists = torch.zeros(spec.n_layers, spec.n_heads, dtype=torch.bool)
    for layer, head in spec.heads():
        exists[layer, head] = True
    return exists


def snapshot_steps(steps: int) -> NDArray[np.int32]:
    """After how many updates the gates are kept; 0 is before the first."""
    return np.unique(np.linspace(0, steps, min(POINTS, steps + 1)).round().astype(np.int32))


def fit_gates(
    start: Tensor,
    exists: Tensor,
    loss: Loss,
    settings: FitSettings,
    on_step: OnStep | None = None,
    should_stop: ShouldStop | None = None,
) -> Fitted:
    """Minimise loss(sigmoid(θ)) − λ · mean(clamp(θ)) over the heads that exist."""
    theta = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([theta], lr=settings.learning_rate[0], betas=(0.9, settings.beta2))
    losses = np.full(settings.steps, np.nan, np.float32)
    points = snapshot_steps(settings.steps)
    path = np.full((len(points), *start.shape), np.nan, np.float32)
    path[0] = start.sigmoid().numpy()
    open_now, unchanged = start > 0, 0
    for step in range(settings.steps):
        optimizer.param_groups[0]["lr"] = settings.learning_rate_at(step)
        optimizer.zero_grad()
        with torch.enable_grad():
            task_loss = loss(theta.sigmoid(), step)
            penalty = (
                settings.regularization_at(step)
                * theta[exists].clamp(-settings.clamp, settings.clamp).mean()
            )
            (task_loss - penalty).backward()
        losses[step] = float(task_loss.detach())
        _check_loss(losses[: step + 1], theta.grad)
        if settings.max_grad_norm is not None:
            torch.nn.utils.clip_grad_norm_([theta], settings.max_grad_norm)
        optimizer.step()
        path[points == step + 1] = theta.detach().sigmoid().numpy()
        if on_step is not None:
            on_step(step, float(losses[step]))
        open_before, open_now = open_now, theta.detach() > 0
        unchanged = unchanged + 1 if torch.equal(open_before, open_now) else 0
        annealed = settings.annealing == 1 or step + 1 >= SETTLED * settings.steps
        if settings.patience is not None and annealed and unchanged >= settings.patience:
            break
        if should_stop is not None and should_stop(losses[: step + 1]):
            break
    path[points > step] = theta.detach().sigmoid().numpy()  # after an early end gates stay
    return Fitted(theta.detach(), losses, points, path)


def _check_loss(losses: NDArray[np.float32], grad: Tensor | None) -> None:
    """Raise when a fit diverges: its loss is not a number, or far above where it started."""
    step = len(losses)
    if not math.isfinite(losses[-1]) or grad is None or not bool(grad.isfinite().all()):
        raise DivergedError(f"the loss or its gradient is not a number at update {step}.")
    if step > SMOOTHED and losses[-SMOOTHED:].mean() > losses[:SMOOTHED].mean() + DIVERGED:
        raise DivergedError(
            f"the loss rose from {losses[:SMOOTHED].mean():.1f} to {losses[-SMOOTHED:].mean():.1f} "
            f"nats by update {step}: a lower learning rate may help."
        )
