"""What gating says of every head: its role, how stable it is, and tables of it.

Roles come from facilitation F, interference N and irrelevance R, each in [0, 1]: a head has the
role whose score reaches the threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from headatlas.errors import MapError
from headatlas.maps.aggregate import bootstrap_interval

if TYPE_CHECKING:
    from headatlas.maps.map import Map

THRESHOLD = 0.5
LEAST_SEEDS = 5
FACILITATING, INTERFERING, BOTH = "facilitating", "interfering", "both"
IRRELEVANT, UNDECIDED = "irrelevant", "undecided"
SCORES = {
    "facilitation": FACILITATING,
    "interference": INTERFERING,
    "irrelevance": IRRELEVANT,
}


def roles(scores: Map, rule: str | None = "always", threshold: float = THRESHOLD) -> xr.DataArray:
    """The role of every head, as words: layer × head, or seed × layer × head without a rule.

    With the rule `always` a head has a role if every seed says so, with `any` if at least one
    does; a head that is facilitating and interfering (in different seeds, as a rule) is `both`, one
    without a role `undecided`. Heads that do not exist have the empty role.
    """
    _check(scores, threshold)
    data = (scores.aggregate(rule) if rule is not None else scores).data
    above = {name: data[name].to_numpy() >= threshold for name in SCORES}
    facilitates, interferes = above["facilitation"], above["interference"]
    words = np.select(
        [
            data["facilitation"].isnull().to_numpy(),
            facilitates & interferes,
            facilitates,
            interferes,
            above["irrelevance"],  # a head that is ever one of the two is not called irrelevant
        ],
        ["", BOTH, FACILITATING, INTERFERING, IRRELEVANT],
        UNDECIDED,
    )
    return data["facilitation"].copy(data=words).rename("role")


def shares(scores: Map, threshold: float = THRESHOLD) -> dict[str, dict[str, float]]:
    """Share of heads with F, and with N, of at least the threshold, always and ever.

    >>> shares(gates)["always"]["facilitation"]  # doctest: +SKIP
    0.07
    """
    _check(scores, threshold)
    table: dict[str, dict[str, float]] = {}
    for rule in ("always", "any"):
        summed = scores.aggregate(rule)
        table[rule] = {}
        for name in ("facilitation", "interference"):
            values = summed[name].to_numpy()
            values = values[np.isfinite(values)]
            table[rule][name] = float((values >= threshold).mean())
    return table


def unstable_heads(scores: Map, threshold: float = THRESHOLD) -> list[tuple[int, int, int, int]]:
    """Heads that facilitate in some seeds and interfere in others: layer, head, seeds of each."""
    _check(scores, threshold)
    above = [scores[name] >= threshold for name in ("facilitation", "interference")]
    facilitates, interferes = (each.sum("seed") for each in above)
    concerned = (above[0] | above[1]).sum("seed")  # one seed that says both is not two
    places = np.argwhere(((facilitates > 0) & (interferes > 0) & (concerned > 1)).to_numpy())
    layers, heads = scores.data["layer"].to_numpy(), scores.data["head"].to_numpy()
    return [
        (
            int(layers[i]),
            int(heads[j]),
            int(facilitates.to_numpy()[i, j]),
            int(interferes.to_numpy()[i, j]),
        )
        for i, j in places
    ]


@dataclass(frozen=True)
class Overlap:
    """Heads that two sets have in common, as a share of their union (Jaccard), and by chance."""

    common: int
    union: int
    expected: float

    @property
    def share(self) -> float:
        return self.common / self.union if self.union else float("nan")


def overlap(one: xr.DataArray, other: xr.DataArray, threshold: float = THRESHOLD) -> Overlap:
    """Overlap of the heads of which two scores (layer × head) reach the threshold."""
    if one.shape != other.shape:
        raise MapError(f"the maps are of different models: {one.size} and {other.size} heads.")
    exists = np.isfinite(one.to_numpy()) & np.isfinite(other.to_numpy())
    a, b = (each.to_numpy()[exists] >= threshold for each in (one, other))
    chance = a.sum() * b.sum() / max(1, a.size)
    together = a.sum() + b.sum() - chance
    expected = float(chance / together) if together else float("nan")
    return Overlap(int((a & b).sum()), int((a | b).sum()), expected)


def seed_overlap(scores: Map, variable: str, threshold: float = THRESHOLD) -> float:
    """Mean overlap (Jaccard) of the heads above the threshold, over all pairs of seeds."""
    values = scores[variable]
    pairs = [
        overlap(values.isel(seed=i), values.isel(seed=j), threshold).share
        for i, j in combinations(range(values.sizes["seed"]), 2)
    ]
    return float(np.nanmean(pairs)) if np.isfinite(pairs).any() else float("nan")


def cumulative(values: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Empirical distribution: sorted values, and the share of heads at or below each."""
    finite = np.sort(values.to_numpy()[np.isfinite(values.to_numpy())])
    return finite, np.arange(1, len(finite) + 1) / max(1, len(finite))


def head_table(scores: Map, threshold: float = THRESHOLD) -> list[dict[str, int | float | str]]:
    """One row a head: its roles, and every score always, ever and on average over seeds.

    The 95 % bootstrap interval of the average is left empty with fewer than five seeds.
    """
    _check(scores, threshold)
    summed = {rule: scores.aggregate(rule) for rule in ("always", "any", "mean")}
    bounds = {name: bootstrap_interval(scores[name]) for name in SCORES}
    few = scores.data.sizes["seed"] < LEAST_SEEDS
    named = {rule: roles(scores, rule, threshold) for rule in ("always", "any")}
    rows: list[dict[str, int | float | str]] = []
    layers, heads = scores.data["layer"].to_numpy(), scores.data["head"].to_numpy()
    for i, j in np.argwhere(named["any"].to_numpy() != ""):
        row: dict[str, int | float | str] = {"layer": int(layers[i]), "head": int(heads[j])}
        for rule, role in named.items():
            row[f"role_{rule}"] = str(role.to_numpy()[i, j])
        for name in ("facilitation", "interference"):
            values = scores[name].transpose("seed", ...).to_numpy()[:, i, j]
            row[f"seeds_{SCORES[name]}"] = int((values >= threshold).sum())
        for name in SCORES:
            for rule, each in summed.items():
                row[f"{name}_{rule}"] = float(each[name].to_numpy()[i, j])
            low, high = bounds[name].to_numpy()[:, i, j].tolist()
            row[f"{name}_low"], row[f"{name}_high"] = ("", "") if few else (low, high)
        rows.append(row)
    return rows


def is_gating(scores: Map) -> bool:
    """Whether a map has what roles are read from."""
    return set(SCORES) <= set(scores.variables)


def _check(scores: Map, threshold: float) -> None:
    if not is_gating(scores):
        method = scores.provenance.get("method", "another method")
        raise MapError(f"roles are read from maps of gating, but this one is of {method}.")
    if not 0 < threshold < 1:
        raise MapError(f"the threshold of a role lies between 0 and 1, not at {threshold}.")
