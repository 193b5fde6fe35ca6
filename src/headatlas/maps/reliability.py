"""How far a gating map can be trusted: do its seeds agree, and had its fits converged?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from headatlas.maps.convergence import (
    SYMBOLS,
    FitConvergence,
    end_losses,
    fit_convergence,
    has_path,
)
from headatlas.maps.map import HEAD_DIMS
from headatlas.maps.roles import SCORES, require_gating, roles
from headatlas.stats.arrays import FloatArray
from headatlas.stats.reliability import Kappa, Reproduced, fleiss_kappa, reproduced

if TYPE_CHECKING:
    import xarray as xr

    from headatlas.maps.map import Map


MIN_SEEDS = 3
"""Seeds from which *always* and *any* say something."""

MIN_RELIABILITY = {"facilitation": 0.8, "interference": 0.6}
"""Reliability of the mean over seeds below which a map carries a warning."""

MAX_UNDECIDED = 0.2
"""Share of pushed gates that may be neither open nor closed without a warning."""

MAX_START_CORRELATION = 0.3
"""Correlation with the first gates that F or N may have without a warning, up or down."""

MEANINGLESS_UNDECIDED, MEANINGLESS_START = 0.6, 0.5
"""From here on gates have hardly left their start, and roles mean nothing."""


@dataclass(frozen=True)
class Reliability:
    """What a gating map's own seeds and fits say about it.

    `scores`: how far F, N and R reproduce between seeds. `roles`: agreement of the roles of two
    seeds compared with chance within layers (Fleiss' kappa). `fits`: per pushed fit (`plus`,
    `minus`) the gates that are undecided or held, and how far they moved in the last quarter.
    `losses`: the loss at the end of each fit on its training questions, mean over seeds;
    `free_above` is the number of seeds whose free fit ended above a pushed one, and so short of its
    optimum. `from_start`: correlation of each score with the first gates, mean over seeds;
    `start_share`: the share of the difference between seeds in F that a head's own first gate
    explains linearly. The rest comes from the data, from
    other heads' first gates, and from which of several circuits a fit ends in.
    """

    seeds: int
    scores: dict[str, Reproduced]
    roles: Kappa
    fits: dict[str, FitConvergence] = field(default_factory=dict)
    from_start: dict[str, float] = field(default_factory=dict)
    start_share: float = float("nan")
    losses: dict[str, float] = field(default_factory=dict)
    free_above: int = 0

    @property
    def undecided(self) -> float:
        """Share of the gates of both pushed fits that are undecided; NaN if fits are not known."""
        return float(np.mean([fit.undecided for fit in self.fits.values()] or [np.nan]))

    @property
    def start_correlation(self) -> float:
        """Correlation of F or N with the first gates, whichever is larger in size."""
        known = [abs(self.from_start.get(name, 0.0)) for name in MIN_RELIABILITY]
        return max((size for size in known if not np.isnan(size)), default=0.0)

    @property
    def meaningless(self) -> bool:
        """Whether gates have hardly left their start, so that roles say nothing yet."""
        hardly_moved = self.start_correlation >= MEANINGLESS_START
        return self.undecided >= MEANINGLESS_UNDECIDED or hardly_moved

    @property
    def converged(self) -> bool:
        """Whether the fits converged: few gates are undecided or still show their start."""
        shows_start = self.start_correlation > MAX_START_CORRELATION
        return not (self.undecided > MAX_UNDECIDED or shows_start)

    @property
    def convergence_warnings(self) -> list[str]:
        """What says that the fits had not converged; empty if they had."""
        limits = self._limits_exceeded()
        if self.meaningless:
            return [f"roles mean nothing yet: gates are still near their first values ({limits})"]
        return [] if self.converged else [f"not converged: {limits}"]

    @property
    def agreement_warnings(self) -> list[str]:
        """What says that seeds agree too little; empty if they agree, or if there is one."""
        low = [
            f"{name} {self.scores[name].mean_map:.2f} (at least {least})"
            for name, least in MIN_RELIABILITY.items()
            if self.scores[name].mean_map < least
        ]
        return [f"seeds agree too little: reliability of {', '.join(low)}"] if low else []

    @property
    def check_warnings(self) -> list[str]:
        """What keeps the map from passing its check, whatever that finds."""
        return [*self.convergence_warnings, *self.agreement_warnings]

    @property
    def warnings(self) -> list[str]:
        """What a reader of the map must know, a sentence each; empty if all limits are kept."""
        few = []
        if self.seeds < MIN_SEEDS:
            number = f"{self.seeds} seed{'' if self.seeds == 1 else 's'}"
            few = [f"{number}: too few for always and any (at least {MIN_SEEDS})"]
        return [*self.convergence_warnings, *few, *self.agreement_warnings]

    def _limits_exceeded(self) -> str:
        """Which limits of a converged map are exceeded."""
        parts = []
        if self.undecided > MAX_UNDECIDED:
            most = f"at most {MAX_UNDECIDED:.0%}"
            parts.append(f"{self.undecided:.0%} of pushed gates undecided, {most}")
        if self.start_correlation > MAX_START_CORRELATION:
            parts.append(
                f"correlation with the first gates {self.start_correlation:.2f}, at most "
                f"{MAX_START_CORRELATION}"
            )
        return "; ".join(parts)

    def sentences(self) -> list[str]:
        """What is known, in plain words with figures."""
        lines = []
        if self.seeds > 1:
            parts = [f"{name} {score.text}" for name, score in self.scores.items()]
            lines.append(f"reliability of the mean over {self.seeds} seeds: {', '.join(parts)}")
            lines.append(
                f"two seeds give a head the same role in {self.roles.agreement:.0%} of cases; "
                f"chance gives {self.roles.chance:.0%} (kappa {self.roles.kappa:.2f})"
            )
        if self.fits:
            moved = np.mean([fit.moved for fit in self.fits.values()])
            held = np.mean([fit.held for fit in self.fits.values()])
            lines.append(
                f"gates neither open nor closed: {self.undecided:.0%} undecided, {held:.0%} held "
                f"in the middle by the data; a gate moved by {moved:.3f} in the last quarter"
            )
            share = (
                ""
                if np.isnan(self.start_share)
                else (
                    f"; {self.start_share:.0%} of the difference between seeds in facilitation "
                    "is explained linearly by a head's own first gate"
                )
            )
            facilitation, interference = (self.from_start[name] for name in MIN_RELIABILITY)
            lines.append(
                f"correlation with the first gates: facilitation {facilitation:.2f}, interference "
                f"{interference:.2f}{share}"
            )
        if self.losses:
            ends = ", ".join(f"{SYMBOLS[stage]} {loss:.2f}" for stage, loss in self.losses.items())
            words = "training loss at the end of fits (nats per token)"
            lines.append(f"{words}: {ends}{self._short()}")
        return lines

    def _short(self) -> str:
        """What a free fit above a pushed one means: the free one had not reached its optimum."""
        if not self.free_above:
            return ""
        seeds = f"{self.free_above} of {self.seeds} seeds"
        return f"; in {seeds} G ended above G⁺ or G⁻, short of its optimum (roles come from those)"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, as a map's provenance keeps it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Reliability:
        """What `as_dict` has stored."""
        return cls(
            seeds=stored["seeds"],
            scores={name: Reproduced(**fields) for name, fields in stored["scores"].items()},
            roles=Kappa(**stored["roles"]),
            fits={name: FitConvergence(**fields) for name, fields in stored["fits"].items()},
            from_start=stored["from_start"],
            start_share=stored["start_share"],
            losses=stored.get("losses", {}),
            free_above=stored.get("free_above", 0),
        )


def reliability(head_map: Map) -> Reliability:
    """How far a gating map can be trusted, from its own seeds and fits.

    >>> reliability(gates).scores["facilitation"].mean_map  # doctest: +SKIP
    0.91
    """
    require_gating(head_map, 0.5)
    if "seed" not in head_map.data.dims:
        if stored := head_map.provenance.get("reliability"):  # of the seeds that were aggregated
            return Reliability.from_dict(stored)
        head_map = type(head_map)(head_map.data.expand_dims("seed"), head_map.provenance)
    words = roles(head_map, None).transpose("seed", *HEAD_DIMS).to_numpy()
    exists = (words != "").all(0)
    from_start, start_share = _start_dependence(head_map)
    losses = end_losses(head_map)
    return Reliability(
        seeds=int(head_map.data.sizes["seed"]),
        scores={
            name: reproduced(head_map[name].transpose("seed", *HEAD_DIMS).to_numpy())
            for name in SCORES
        },
        roles=fleiss_kappa(words[:, exists], np.nonzero(exists)[0]),
        fits=fit_convergence(head_map),
        from_start=from_start,
        start_share=start_share,
        losses={stage: _mean_of_known(by_seed) for stage, by_seed in losses.items()},
        free_above=_free_above(losses),
    )


def _free_above(losses: dict[str, FloatArray]) -> int:
    """In how many seeds the free fit ended with a higher loss than one of the pushed fits."""
    if "free" not in losses:
        return 0
    pushed = np.min([by_seed for stage, by_seed in losses.items() if stage != "free"], axis=0)
    return int((losses["free"] > pushed).sum())


def _start_dependence(head_map: Map) -> tuple[dict[str, float], float]:
    """`from_start` and `start_share` of a map; nothing is known without a path.

    Over the heads whose scores and first gates all seeds have.
    """
    if not has_path(head_map):
        return {}, float("nan")
    start = _by_seed(head_map["gate_path"].sel(stage="free").isel(point=0))
    scores = {name: _by_seed(head_map[name]) for name in SCORES}
    known = np.isfinite([start, *scores.values()]).all((0, 1))
    start = start[:, known]
    scores = {name: by_seed[:, known] for name, by_seed in scores.items()}
    from_start = {
        name: _mean_of_known([_correlation(*pair) for pair in zip(start, by_seed, strict=True)])
        for name, by_seed in scores.items()
    }
    return from_start, _share_of_start(start, scores["facilitation"])


def _by_seed(values: xr.DataArray) -> FloatArray:
    """The values of a variable: seed × head."""
    return values.transpose("seed", *HEAD_DIMS).to_numpy().reshape(values.sizes["seed"], -1)


def _share_of_start(start: FloatArray, score: FloatArray) -> float:
    """The share of the difference between seeds that their first gates explain linearly."""
    if len(start) < 2:
        return float("nan")
    return _correlation((start - start.mean(0)).ravel(), (score - score.mean(0)).ravel()) ** 2


def _mean_of_known(values: Sequence[float] | FloatArray) -> float:
    """The mean without NaNs: a seed whose score is the same for all heads has no correlation."""
    known = [value for value in values if not np.isnan(value)]
    return float(np.mean(known)) if known else float("nan")


def _correlation(x: FloatArray, y: FloatArray) -> float:
    if not len(x) or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])
