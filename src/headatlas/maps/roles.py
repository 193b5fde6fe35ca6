"""What gating says about every head: its role, and how stable it is over seeds.

Roles come from facilitation F, interference N and irrelevance R, each in [0, 1]: a head has the
role whose score reaches the threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import xarray as xr

from headatlas.errors import MapError
from headatlas.stats.overlap import Overlap
from headatlas.stats.reliability import divisions

if TYPE_CHECKING:
    from headatlas.maps.map import Map

THRESHOLD = 0.5
FACILITATING, INTERFERING, BOTH = "facilitating", "interfering", "both"
IRRELEVANT, NO_ROLE = "irrelevant", "no role"
SCORES = {
    "facilitation": FACILITATING,
    "interference": INTERFERING,
    "irrelevance": IRRELEVANT,
}


def roles(scores: Map, rule: str | None = "always", threshold: float = THRESHOLD) -> xr.DataArray:
    """The role of every head in words: layer × head, or seed × layer × head without a rule.

    With the rule `always` a head has a role if every seed says so, with `any` if at least one
    does; a head that is facilitating and interfering (usually in different seeds) is `both`, one
    without any has `no role`. Heads that do not exist have the empty role.
    """
    require_gating(scores, threshold)
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
        NO_ROLE,
    )
    return data["facilitation"].copy(data=words).rename("role")


def shares(scores: Map, threshold: float = THRESHOLD) -> dict[str, dict[str, float]]:
    """Share of heads with F, and with N, of at least the threshold, always and in any seed.

    >>> shares(gates)["always"]["facilitation"]  # doctest: +SKIP
    0.07
    """
    require_gating(scores, threshold)
    table: dict[str, dict[str, float]] = {}
    for rule in ("always", "any"):
        aggregated = scores.aggregate(rule)
        table[rule] = {}
        for name in ("facilitation", "interference"):
            values = aggregated[name].to_numpy()
            values = values[np.isfinite(values)]
            table[rule][name] = float((values >= threshold).mean())
    return table


def unstable_heads(scores: Map, threshold: float = THRESHOLD) -> list[tuple[int, int, int, int]]:
    """Heads that facilitate in some seeds and interfere in others: layer, head, number of seeds
    that say the one, and number that say the other."""
    require_gating(scores, threshold)
    above = [scores[name] >= threshold for name in ("facilitation", "interference")]
    facilitates, interferes = (mask.sum("seed") for mask in above)
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


def unstable_by_chance(scores: Map, threshold: float = THRESHOLD) -> float:
    """How many heads would be unstable if seeds had nothing in common but how many heads of each
    layer have which role."""
    require_gating(scores, threshold)
    names = ("facilitation", "interference")
    values = [scores[name].transpose("seed", "layer", "head").to_numpy() for name in names]
    exists = np.isfinite(values[0]).all(0)
    heads = exists.sum(1)
    f, n = ((v >= threshold) & exists for v in values)
    f, n = ((above.sum(2) / np.maximum(heads, 1)) for above in (f, n & ~f))  # seed × layer
    none_f, none_n, neither = (1 - f).prod(0), (1 - n).prod(0), (1 - f - n).prod(0)
    return float(((1 - none_f - none_n + neither) * heads).sum())


def role_overlap(one: xr.DataArray, other: xr.DataArray, threshold: float = THRESHOLD) -> Overlap:
    """Overlap of the heads for which two scores (layer × head) reach the threshold.

    `expected` is what chance gives: sets with as many heads in every layer, drawn independently, so
    that heads which gather in the same layers are not taken for the same heads. It is the expected
    number in common as a share of the expected union.
    """
    if one.shape != other.shape:
        raise MapError(f"the maps are of different models: {one.size} and {other.size} heads.")
    exists = np.isfinite(one.to_numpy()) & np.isfinite(other.to_numpy())
    first, second = ((values.to_numpy() >= threshold) & exists for values in (one, other))
    by_layer = first.sum(axis=1) * second.sum(axis=1) / np.maximum(exists.sum(axis=1), 1)
    common, union = float(by_layer.sum()), float(first.sum() + second.sum() - by_layer.sum())
    expected = common / union if union else float("nan")
    return Overlap(int((first & second).sum()), int((first | second).sum()), expected)


class SeedOverlap(NamedTuple):
    """Mean overlap (Jaccard) of two seeds' heads, and what chance gives; see `role_overlap`."""

    share: float
    expected: float


def seed_overlap(scores: Map, variable: str, threshold: float = THRESHOLD) -> SeedOverlap:
    """Overlap of the heads above the threshold, averaged over all pairs of seeds.

    Pairs without any such head are left out; NaN if there are no others.
    """
    values = scores[variable].transpose("seed", "layer", "head")
    pairs = [
        role_overlap(values.isel(seed=i), values.isel(seed=j), threshold)
        for i, j in combinations(range(values.sizes["seed"]), 2)
    ]
    return _mean_overlap(pairs)


def _mean_overlap(pairs: Sequence[Overlap]) -> SeedOverlap:
    pairs = [pair for pair in pairs if pair.union]
    if not pairs:
        return SeedOverlap(float("nan"), float("nan"))
    return SeedOverlap(
        float(np.mean([pair.share for pair in pairs])),
        float(np.mean([pair.expected for pair in pairs])),
    )


def rule_overlap(
    scores: Map, variable: str, rule: str, threshold: float = THRESHOLD
) -> SeedOverlap:
    """Overlap of the heads above the threshold *always* or in *any* of the seeds of two halves.

    Mean over ways to divide the seeds; NaN with fewer than two seeds, or without any such head.
    """
    values = scores[variable].transpose("seed", "layer", "head")
    if values.sizes["seed"] < 2:
        return SeedOverlap(float("nan"), float("nan"))
    aggregate = {"always": "min", "any": "max"}[rule]
    pairs = []
    for sides in zip(*divisions(values.sizes["seed"]), strict=True):
        one, other = (
            getattr(values.isel(seed=np.flatnonzero(side)), aggregate)("seed", skipna=False)
            for side in sides
        )
        pairs.append(role_overlap(one, other, threshold))
    return _mean_overlap(pairs)


def independent_shares(scores: Map, threshold: float = THRESHOLD) -> dict[str, dict[str, float]]:
    """What `shares` would be if seeds had nothing in common but how many heads of each layer they
    give a role: *always* then goes to 0 and *any* to 1 with the number of seeds."""
    require_gating(scores, threshold)
    table: dict[str, dict[str, float]] = {"always": {}, "any": {}}
    for name in ("facilitation", "interference"):
        values = scores[name].transpose("seed", "layer", "head")
        exists = np.isfinite(values.to_numpy()).all(0)
        heads = exists.sum(1)
        above = ((values.to_numpy() >= threshold) & exists).sum(2) / np.maximum(heads, 1)
        weights = heads / heads.sum()
        table["always"][name] = float((above.prod(0) * weights).sum())
        table["any"][name] = float(((1 - (1 - above).prod(0)) * weights).sum())
    return table


def cumulative(values: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Empirical distribution: sorted values, and the share of heads at or below each."""
    finite = np.sort(values.to_numpy()[np.isfinite(values.to_numpy())])
    return finite, np.arange(1, len(finite) + 1) / max(1, len(finite))


def is_gating(head_map: Map) -> bool:
    """Whether a map has the scores that roles are read from."""
    return set(SCORES) <= set(head_map.variables)


def require_gating(scores: Map, threshold: float) -> None:
    """Raise unless the map has roles and the threshold makes sense."""
    if not is_gating(scores):
        method = scores.provenance.get("method", "another method")
        raise MapError(f"roles are read from gating maps; this is of the method '{method}'.")
    if not 0 < threshold < 1:
        raise MapError(f"the threshold must be between 0 and 1, not {threshold}.")
