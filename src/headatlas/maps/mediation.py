"""Causal mediation against gating: do heads that carry an effect also facilitate the task?"""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import xarray as xr

from headatlas.errors import MapError
from headatlas.maps.compare import check_comparable, importance
from headatlas.maps.comparison import AND
from headatlas.maps.importance import importance_of
from headatlas.maps.labels import model_of
from headatlas.maps.naming import joint_name
from headatlas.maps.result import Result
from headatlas.maps.roles import is_gating
from headatlas.stats.clustered import LEVEL
from headatlas.stats.intervals import Change
from headatlas.stats.welch import welch
from headatlas.stats.within_layers import LayerTest, above_own_layers

if TYPE_CHECKING:
    from headatlas.maps.map import Map

DEVIATIONS = 3
"""A head mediates if its indirect effect exceeds the mean by this number of standard deviations."""

NAMED = 5
"""As many mediating heads are named, the strongest first."""

FEW = 5
"""Below this number of mediating heads their variance is hardly known."""


@dataclass(frozen=True)
class MediationRow:
    """A head: its indirect effect, its largest facilitation over seeds, and whether it mediates."""

    layer: int
    head: int
    effect: float
    facilitation: float
    mediates: bool

    @property
    def name(self) -> str:
        return f"{self.layer}.{self.head}"


@dataclass(frozen=True)
class Mediation(Result):
    """Heads that mediate against all others, by their largest facilitation over seeds.

    `rows` has all heads that both maps have, the largest indirect effect first; a head mediates if
    it is above the `threshold`. `difference` is the mean of `facilitation` of those that do minus
    that of the others (95 %), and `t`, `df` and `p` are Welch's test, as published; NaN where fewer
    than two heads mediate. F is often near 1 in all mediating heads: their variance is then tiny,
    and t says nothing. `layers` compares them with random heads of the same layers, by rank: the
    verdict rests on that. `effect` says what the indirect effect is.

    >>> mediation = atlas.mediation("patching", "gating")  # doctest: +SKIP
    >>> print(*mediation.summary(), sep="\\n")  # doctest: +SKIP
    """

    kind: ClassVar[str] = "mediation"
    figures: ClassVar[tuple[str, ...]] = ("mediation",)

    maps: tuple[str, str]
    model: str
    task: str
    effect: str
    seeds: int
    threshold: float
    mediating_mean: float
    other_mean: float
    difference: Change
    t: float
    df: float
    p: float
    rows: tuple[MediationRow, ...]
    layers: LayerTest
    warnings: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        return joint_name(self.maps)

    @property
    def mediating(self) -> tuple[MediationRow, ...]:
        """The heads that mediate, the strongest first."""
        return tuple(row for row in self.rows if row.mediates)

    @property
    def test(self) -> str:
        """The test of ranks, and Welch's where there is one."""
        if isnan(self.layers.auroc):
            return f"no test: {'all heads mediate' if self.mediating else 'no head mediates'}"
        ranks = (
            f"AUROC {self.layers.auroc:.2f} ({self.layers.expected:.2f} for random heads of the "
            f"same layers, p = {self.layers.p:.2g})"
        )
        return ranks if isnan(self.t) else f"{ranks}, Welch's t({self.df:.2f}) = {self.t:.2f}"

    def summary(self) -> list[str]:
        """What to beware of, how many heads mediate, and how far they facilitate more."""
        count = len(self.mediating)
        heads = f"{count} of {len(self.rows)} heads mediate"
        above = f"{self.effect} above {self.threshold:.3g}, mean + {DEVIATIONS} standard deviations"
        named = ", ".join(row.name for row in self.mediating[:NAMED])
        which = f": {named}{', …' if count > NAMED else ''}" if count else ""
        return [
            *(f"CAUTION: {warning}" for warning in self.warnings),
            f"{self.task}: {heads} ({above}){which}",
            f"{self.task}: {self._finding()}",
        ]

    def _finding(self) -> str:
        seeds = f"over {self.seeds} seeds" if self.seeds > 1 else "in the only seed"
        if not self.mediating:
            return (
                "no head stands out, so there is nothing to compare; the largest facilitation "
                f"{seeds} is {self.other_mean:.2f} on average"
            )
        means = (
            f"largest facilitation {seeds}: {self.mediating_mean:.2f} on average where heads "
            f"mediate, {self.other_mean:.2f} elsewhere"
        )
        if isnan(self.layers.auroc):
            return f"{means}; all heads mediate: nothing to compare with"
        bounds = (
            ""
            if isnan(self.difference.low)
            else f" ({self.difference.low:+.2f} … {self.difference.high:+.2f})"
        )
        difference = f"difference {self.mediating_mean - self.other_mean:+.2f}{bounds}"
        return f"{means}; {difference}, {self.test}: {self._verdict()}"

    def _verdict(self) -> str:
        """What the test within layers shows, in words."""
        error = 1 - LEVEL
        if self.layers.least_p > error:
            return f"too few heads to test (smallest possible p {self.layers.least_p:.2g})"
        if self.layers.p > error:
            return "heads that mediate are not shown to facilitate more than others of their layers"
        return "heads that mediate facilitate more than others of their layers"


def mediation_of(patching: Map, gating: Map) -> Mediation:
    """Causal mediation against causal head gating (Nam et al. 2025).

    A head mediates if its indirect effect, mean over seeds, exceeds mean + 3 · sd over heads (sd of
    the sample). Its facilitation is max over seeds of F. For patching that was only noised, the
    effect is how much the clean run loses with the head's corrupted output.

    >>> import numpy as np
    >>> from headatlas.maps import Map
    >>> effect, gates = np.zeros((10, 4)), np.full((10, 4), 0.1)
    >>> effect[3, :2], gates[3, 0], gates[3, 1] = 1.0, 0.9, 0.8
    >>> dims = ("layer", "head")
    >>> patching = Map.of({"indirect_effect": (dims, effect)}, {"method": "patching"})
    >>> scores = {name: (dims, gates) for name in ("facilitation", "interference", "irrelevance")}
    >>> found = mediation_of(patching, Map.of(scores, {"method": "gating"}))
    >>> [row.name for row in found.mediating], round(found.difference.mean, 2)
    (['3.0', '3.1'], 0.75)
    """
    _check_maps(patching, gating)
    effect = importance(patching).transpose("layer", "head")
    largest, seeds = gating["facilitation"], int(gating.data.sizes.get("seed", 1))
    if "seed" in largest.dims:
        largest = largest.max("seed")
    check_comparable([effect, largest])
    known = np.isfinite(effect.to_numpy()) & np.isfinite(largest.to_numpy())
    effects, scores = effect.to_numpy()[known], largest.to_numpy()[known]
    threshold = float(effects.mean() + DEVIATIONS * effects.std(ddof=1))
    mediates = effects > threshold
    tested = welch(scores[mediates], scores[~mediates])
    facts = patching.provenance, gating.provenance
    return Mediation(
        maps=(patching.name, gating.name),
        model=str(facts[0].get("model")),
        task=AND.join(dict.fromkeys(str(fact.get("task")) for fact in facts)),
        effect=importance_of(patching).label,
        seeds=seeds,
        threshold=threshold,
        mediating_mean=_mean(scores[mediates]),
        other_mean=_mean(scores[~mediates]),
        difference=tested.difference,
        t=tested.t,
        df=tested.df,
        p=tested.p,
        rows=_rows(effect, largest, threshold),
        layers=above_own_layers(
            np.where(known, largest.transpose("layer", "head").to_numpy(), np.nan),
            (effect > threshold).to_numpy(),
        ),
        warnings=_warnings(gating, seeds, int(mediates.sum())),
    )


def _check_maps(patching: Map, gating: Map) -> None:
    method = patching.provenance.get("method")
    if method != "patching":
        raise MapError(f"mediation is measured by a patching map: the first is of '{method}'.")
    if not is_gating(gating):
        method = gating.provenance.get("method")
        raise MapError(f"facilitation is read from a gating map: the second is of '{method}'.")
    if "aggregated" in gating.provenance:
        raise MapError("this gating map is aggregated over seeds: give the one with all seeds.")
    if model_of(patching) != model_of(gating):
        one, other = (head_map.provenance.get("model") for head_map in (patching, gating))
        raise MapError(f"the maps are of different models: {one} and {other}.")


def _rows(
    effect: xr.DataArray, largest: xr.DataArray, threshold: float
) -> tuple[MediationRow, ...]:
    """All heads that both maps have, the largest effect first."""
    rows = [
        MediationRow(int(layer), int(head), float(carried), float(score), bool(carried > threshold))
        for layer, own, scores in zip(
            effect["layer"].to_numpy(), effect.to_numpy(), largest.to_numpy(), strict=True
        )
        for head, carried, score in zip(effect["head"].to_numpy(), own, scores, strict=True)
        if np.isfinite(carried) and np.isfinite(score)
    ]
    return tuple(sorted(rows, key=lambda row: -row.effect))


def _warnings(gating: Map, seeds: int, mediating: int) -> tuple[str, ...]:
    """What is against the result: one seed, few heads, and what the gating map says itself."""
    warnings = []
    if seeds == 1:
        warnings.append("the gating map has one seed: a maximum over seeds needs several")
    if 1 < mediating < FEW:
        warnings.append(f"only {mediating} heads mediate: Welch's test is unreliable")
    return (*warnings, *(gating.reliability.warnings if gating.reliability else ()))


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")
