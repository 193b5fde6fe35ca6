"""Had a fit converged? Read from the path of its gates that a gating map keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headatlas.maps.map import HEAD_DIMS
from headatlas.stats.arrays import FloatArray

if TYPE_CHECKING:
    from headatlas.maps.map import Map


CLOSED, OPEN = 0.1, 0.9
"""A gate at or below the first is closed, at or above the second open."""

HORIZON = 75.0
"""How far a gate is followed beyond its fit, in learning rate × updates: half of what a pushed fit
of the published schedule has (500 updates at 0.3 on average)."""

PUBLISHED_LEARNING_RATE = (0.5, 0.1)
"""That of pushed fits, for maps that do not state theirs."""

SYMBOLS = {"free": "G", "plus": "G⁺", "minus": "G⁻"}
"""What the fits are called, by stage."""

END_UPDATES = 10
"""Updates at the end of a fit over which its loss is averaged."""

SETTLED = 0.6
"""The share of a fit in which λ falls to its own value; drift is measured after it."""


@dataclass(frozen=True)
class FitConvergence:
    """Gates of a pushed fit, as shares of all heads and seeds.

    `undecided` gates are neither open nor closed nor held. `held` ones stay between the two: their
    drift in the last 40 % of the fit, with its 95 % interval, keeps them there however long the fit
    goes on (half a published fit longer). `moved`: mean absolute change in the last quarter.
    """

    undecided: float
    held: float
    moved: float


def fit_convergence(head_map: Map) -> dict[str, FitConvergence]:
    """How the pushed fits of a map ended; empty if the map has no path."""
    if not has_path(head_map):
        return {}
    fits = {}
    for stage in ("plus", "minus"):
        path, steps = _path(head_map, stage)
        travel = _travel(head_map, int(steps[-1]))[steps]
        held, moved = [], []
        for gates, updates in zip(path, _updates(head_map, stage), strict=True):
            done = steps <= updates  # a fit that ended early has not stood still since
            held.append(held_gates(gates[None, done], travel[done])[0])
            moved.append(abs(gates[-1] - gates[_last_quarter(steps[done])]))
        between = _between(path[:, -1])
        is_held = between & np.stack(held)
        exists = np.isfinite(path[:, -1])
        fits[stage] = FitConvergence(
            undecided=float((between & ~is_held)[exists].mean()),
            held=float(is_held[exists].mean()),
            moved=float(np.nanmean(moved)),
        )
    return fits


def end_losses(head_map: Map) -> dict[str, FloatArray]:
    """The training loss at the end of every fit, by stage: one number per seed.

    It is the mean of the last `END_UPDATES` updates, since single batches differ. An aggregated map
    has none.
    """
    if "loss" not in head_map.data or "stage" not in head_map.data["loss"].dims:
        return {}
    losses = head_map.data["loss"]
    losses = losses if "seed" in losses.dims else losses.expand_dims("seed")
    return {
        str(stage): np.array([_end(fit) for fit in losses.sel(stage=stage).to_numpy()])
        for stage in losses["stage"].to_numpy()
    }


def _end(losses: FloatArray) -> float:
    known = losses[np.isfinite(losses)]
    return float(np.mean(known[-END_UPDATES:])) if len(known) else float("nan")


def has_path(head_map: Map) -> bool:
    """Whether a map has the path of the gates of all its fits, as no selection of one has."""
    return "gate_path" in head_map.data and "stage" in head_map["gate_path"].dims


def _between(gates: FloatArray) -> FloatArray:
    return np.asarray((gates > CLOSED) & (gates < OPEN))


def held_gates(path: FloatArray, travel: FloatArray) -> FloatArray:
    """Gates that the data hold between open and closed: seed × layer × head.

    `path` is seed × point × layer × head, `travel` the learning rate × updates up to each point.
    """
    from scipy.stats import t

    start = int(SETTLED * len(travel))
    increments = np.diff(_logit(path[:, start:]), axis=1)
    lengths = np.diff(travel[start:])
    count = len(lengths)
    if count < 3:
        return np.zeros(path[:, -1].shape, bool)
    drift = increments.sum(1) / lengths.sum()
    residual = increments - drift[:, None] * lengths[:, None, None]
    se = np.sqrt((residual**2).sum(1) / (count - 1) * count) / lengths.sum()
    reach = HORIZON * float(t.ppf(0.975, count - 1)) * se
    end = _logit(path[:, -1]) + HORIZON * drift
    return np.asarray((end - reach > _logit(CLOSED)) & (end + reach < _logit(OPEN)))


def _logit(gates: Any) -> Any:
    clipped = np.clip(gates, 1e-6, 1 - 1e-6)
    return np.log(clipped / (1 - clipped))


def _path(head_map: Map, stage: str) -> tuple[FloatArray, FloatArray]:
    """The gates of a fit (seed × point × layer × head), and after how many updates they are."""
    steps = head_map["point_step"].sel(stage=stage)
    steps = steps.isel(seed=0) if "seed" in steps.dims else steps
    kept = steps.to_numpy() >= 0
    path = head_map["gate_path"].sel(stage=stage).transpose("seed", "point", *HEAD_DIMS)
    return path.to_numpy()[:, kept].astype(np.float64), steps.to_numpy()[kept].astype(int)


def _updates(head_map: Map, stage: str) -> FloatArray:
    """How many updates the fit of every seed had; losses after its end are NaN.

    An aggregated map has no losses: nothing is known of an early end.
    """
    if "loss" not in head_map.data:
        return np.full(head_map.data.sizes["seed"], np.inf)
    losses = head_map.data["loss"].sel(stage=stage)
    losses = losses if "seed" in losses.dims else losses.expand_dims("seed")
    return np.asarray(losses.notnull().sum("step").to_numpy())


def _travel(head_map: Map, updates: int) -> FloatArray:
    """Learning rate × updates up to every update of a pushed fit."""
    settings = head_map.provenance.get("settings", {})
    start, end = settings.get("pushed_learning_rate", PUBLISHED_LEARNING_RATE)
    return np.concatenate([[0.0], np.cumsum(np.linspace(start, end, updates, endpoint=False))])


def _last_quarter(steps: FloatArray) -> int:
    """The point at which the last quarter of a fit begins."""
    return int(np.searchsorted(steps, 0.75 * steps[-1], side="right")) - 1
