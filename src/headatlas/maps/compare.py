"""How far maps agree, whatever they were made with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import xarray as xr

from headatlas.errors import MapError
from headatlas.maps.comparison import AND, AgreementRow, Comparison
from headatlas.maps.halves import Halves, halves, why_unknown
from headatlas.maps.importance import importance_of
from headatlas.maps.labels import distinct_labels, method_label, model_of
from headatlas.stats.agreement import FEWEST_HEADS, TOP_K, agreement_of, common_heads
from headatlas.stats.ceiling import UNKNOWN, Ceiling, ceiling_of, reliabilities

if TYPE_CHECKING:
    from headatlas.maps.map import Map


TOO_FEW = f"the maps have fewer than {FEWEST_HEADS} heads in common"
SHARED = (
    "the maps overlap in some questions in a way that cannot be split into matching halves; make "
    "both with the same examples and several seeds"
)


def compare_maps(*maps: Map, top_k: int = TOP_K) -> Comparison:
    """Agreement of two or more maps of models with the same layers and heads, pair by pair.

    The maps may be of several methods, tasks or models.

    Seeds are averaged, and signs aligned so that larger means more important: facilitation,
    importance, the fall of log P when a head is removed, 1 − gate. Maps of functions are compared
    function by function.

    >>> import numpy as np
    >>> from headatlas.maps import Map
    >>> values = np.random.default_rng(0).random((3, 4))
    >>> dims = ("layer", "head")
    >>> ablation = Map.of({"effect": (dims, -values)}, {"method": "ablation"})
    >>> gating = Map.of({"facilitation": (dims, values)}, {"method": "gating"})
    >>> round(compare_maps(ablation, gating).rows[0].spearman, 3)
    1.0
    """
    if len(maps) < 2:
        raise MapError(f"a comparison needs two or more maps, not {len(maps)}.")
    return compare_named(distinct_labels(maps), maps, top_k=top_k)


def compare_named(labels: Sequence[str], maps: Sequence[Map], *, top_k: int = TOP_K) -> Comparison:
    """Agreement of every pair of several maps, under the given labels."""
    measured = [
        _Measured(importance(head_map), halves(head_map), why_unknown(head_map))
        for head_map in maps
    ]
    names = _common_functions([measurement.values for measurement in measured])
    rows = []
    for function in names:
        chosen = [measurement.only(function) for measurement in measured]
        for (one, x), (other, y) in combinations(zip(labels, chosen, strict=True), 2):
            rows.append(_row((one, other), function, x, y, top_k))
    facts = [head_map.provenance for head_map in maps]
    models: dict[str, str] = {}
    for head_map in maps:  # a model that was moved has several names
        models.setdefault(model_of(head_map), str(head_map.provenance.get("model")))
    model = AND.join(models.values())
    task = AND.join(dict.fromkeys(str(fact.get("task")) for fact in facts))
    method = AND.join(dict.fromkeys(map(method_label, maps)))
    warnings = (
        f"{label}: {warning}"
        for label, head_map in zip(labels, maps, strict=True)
        for warning in head_map.warnings
    )
    names_of_maps = tuple(head_map.name for head_map in maps)
    return Comparison(names_of_maps, model, task, tuple(rows), tuple(warnings), method)


def importance(head_map: Map) -> xr.DataArray:
    """How much the task needs every head, larger for more, averaged over seeds."""
    ranking = importance_of(head_map)
    if "seed" in head_map.data.dims:
        head_map = head_map.aggregate("mean", skip_missing=True)
    return ranking.sign * head_map[ranking.variable]


def check_comparable(scores: Sequence[xr.DataArray]) -> None:
    """Raise, with the reason, unless maps of these importances can be compared with each other."""
    for function in _common_functions(scores):
        for one, other in combinations([_only(values, function) for values in scores], 2):
            _check_same_heads(one, other)
            common_heads(one.to_numpy(), other.to_numpy())


def _only(values: xr.DataArray, function: str | None) -> xr.DataArray:
    """One function, where there are functions."""
    return values.sel(function=function, drop=True) if "function" in values.dims else values


def _common_functions(scores: Sequence[xr.DataArray]) -> list[str | None]:
    sets = [
        [str(name) for name in values["function"].to_numpy()]
        for values in scores
        if "function" in values.dims
    ]
    if not sets:
        return [None]
    common: list[str | None] = [name for name in sets[0] if all(name in names for names in sets)]
    if not common:
        raise MapError("the maps have no function in common.")
    return common


@dataclass(frozen=True)
class _Measured:
    """The importance of heads in a map, and in the two halves that it was measured from, or why
    there are none."""

    values: xr.DataArray
    halves: Halves | None
    why_unknown: str

    def each(self, change: Callable[[xr.DataArray], xr.DataArray]) -> _Measured:
        both = self.halves and self.halves._replace(
            one=change(self.halves.one), other=change(self.halves.other)
        )
        return _Measured(change(self.values), both, self.why_unknown)

    def only(self, function: str | None) -> _Measured:
        """One function, where there are functions."""
        return self.each(lambda values: _only(values, function))

    def ceiling_with(self, other: _Measured) -> Ceiling:
        if self.halves is None or other.halves is None:
            return UNKNOWN
        mine, theirs = self.halves, other.halves
        if not mine.aligned_with(theirs):
            theirs = theirs.exchanged()
        own, others = (
            [half.transpose("layer", "head").to_numpy() for half in (pair.one, pair.other)]
            for pair in (mine, theirs)
        )
        first, second, factors = (
            (own[0], own[1]),
            (others[0], others[1]),
            (mine.factor, theirs.factor),
        )
        shared = not mine.independent_of(theirs)
        if shared and not mine.aligned_with(theirs):
            return replace(UNKNOWN, reliability=reliabilities(first, second, factors))
        values = self.values.to_numpy(), other.values.to_numpy()
        return ceiling_of(*values, first, second, factors=factors, shared=shared)

    def unknown_with(self, other: _Measured) -> str:
        """Why the reliability of either map, or their correlation without noise, is not known."""
        if self.halves is None or other.halves is None:
            return "; ".join(dict.fromkeys(filter(None, (self.why_unknown, other.why_unknown))))
        pairs = other.halves, other.halves.exchanged()
        if self.halves.independent_of(other.halves) or any(map(self.halves.aligned_with, pairs)):
            return ""
        return SHARED


def _check_same_heads(one: xr.DataArray, other: xr.DataArray) -> None:
    try:
        xr.align(one, other, join="exact")
    except ValueError:
        raise MapError(
            f"maps of different heads cannot be compared: {one.sizes['layer']} layers × "
            f"{one.sizes['head']} heads and {other.sizes['layer']} × {other.sizes['head']}."
        ) from None


def _row(
    pair: tuple[str, str], function: str | None, x: _Measured, y: _Measured, top_k: int
) -> AgreementRow:
    _check_same_heads(x.values, y.values)
    inside = x.each(_without_depth), y.each(_without_depth)
    plain, within = (
        agreement_of(one.values.to_numpy(), other.values.to_numpy(), top_k=top_k)
        for one, other in ((x, y), inside)
    )
    enough = plain.heads >= FEWEST_HEADS
    ceiling, ceiling_within = (
        one.ceiling_with(other) if enough else UNKNOWN for one, other in ((x, y), inside)
    )
    return AgreementRow(
        pair,
        function,
        plain.heads,
        plain.spearman,
        *plain.spearman_interval,
        within.spearman,
        *within.spearman_interval,
        plain.top_k,
        plain.top_overlap,
        plain.top_p,
        plain.top_expected,
        ceiling.reliability,
        ceiling.disattenuated,
        ceiling.low,
        ceiling.high,
        ceiling_within.reliability,
        ceiling_within.disattenuated,
        x.unknown_with(y) if enough else TOO_FEW,
    )


def _without_depth(values: xr.DataArray) -> xr.DataArray:
    return values - values.mean("head", skipna=True)
