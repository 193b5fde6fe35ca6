"""How far two maps agree, whatever they were made with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan, nan, sqrt
from typing import TYPE_CHECKING, ClassVar

import xarray as xr

from headatlas.errors import MapError
from headatlas.maps.halves import Halves, halves
from headatlas.maps.importance import importance_of
from headatlas.maps.naming import joint_name
from headatlas.maps.result import Result
from headatlas.stats.agreement import TOP_K, agreement_of
from headatlas.stats.ceiling import UNKNOWN, Ceiling, ceiling_of

if TYPE_CHECKING:
    from headatlas.maps.map import Map


@dataclass(frozen=True)
class AgreementRow:
    """Agreement of two maps over heads, for one function or for the whole maps.

    `spearman` (95 %: `low` … `high`) is over all heads; `within` the same with every layer's mean
    subtracted, which is what is left when depth alone is not counted. `top_overlap` is the
    share of the `top_k` most important heads that both have, and what chance gives; `top_p` is
    how often chance gives as much.

    `reliability` of the two maps is known where each was measured at least twice (split halves,
    Spearman and Brown); `ceiling`, the root of their product, is the correlation that maps which
    agree but for noise would have, and `disattenuated` the correlation divided by it (95 %:
    `disattenuated_low` … `disattenuated_high`). `within_reliability` and `within_disattenuated` are
    the same with every layer's mean subtracted. NaN where not known.
    """

    pair: tuple[str, str]
    function: str | None
    heads: int
    spearman: float
    low: float
    high: float
    within: float
    within_low: float
    within_high: float
    top_k: int
    top_overlap: float
    top_p: float
    top_expected: float
    reliability: tuple[float, float] = (nan, nan)
    disattenuated: float = nan
    disattenuated_low: float = nan
    disattenuated_high: float = nan
    within_reliability: tuple[float, float] = (nan, nan)
    within_disattenuated: float = nan

    @property
    def ceiling(self) -> float:
        """The largest correlation that the maps' own reliabilities let one expect."""
        one, other = self.reliability
        return sqrt(one * other) if one > 0 and other > 0 else nan

    def ceiling_text(self) -> str:
        """The ceiling and what the correlation would be without noise, in words."""
        one, other = self.reliability
        if isnan(one) or isnan(other):
            return "the maps' reliability is not known"
        known = f"reliabilities {one:.2f} and {other:.2f}"
        if isnan(self.ceiling):
            return f"{known}: too noisy to compare"
        if isnan(self.disattenuated_low):
            return f"{known}, ceiling {self.ceiling:.2f}: too noisy to say more"
        return (
            f"{known}, ceiling {self.ceiling:.2f}; without noise {self.disattenuated:+.2f} "
            f"({self.disattenuated_low:+.2f} … {self.disattenuated_high:+.2f})"
        )


@dataclass(frozen=True)
class Comparison(Result):
    """Agreement of two or more maps, pair by pair; `warnings` say which of them mean little yet.

    >>> comparison = atlas.compare("gating", "ablation")  # doctest: +SKIP
    >>> comparison.rows[0].spearman  # doctest: +SKIP
    0.21
    """

    kind: ClassVar[str] = "comparison"
    figures: ClassVar[tuple[str, ...]] = ("agreement",)

    maps: tuple[str, ...]
    model: str
    task: str
    rows: tuple[AgreementRow, ...]
    warnings: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        return joint_name(self.maps)

    def summary(self) -> list[str]:
        """What to beware of, then a sentence per pair and function."""
        return [f"CAUTION: {warning}" for warning in self.warnings] + [
            f"{' and '.join(row.pair)}{f', {row.function}' if row.function else ''}: rank "
            f"correlation {row.spearman:+.2f} ({row.low:+.2f} … {row.high:+.2f}) over {row.heads} "
            f"heads ({row.ceiling_text()}){_top_text(row)}"
            for row in self.rows
        ]


def _top_text(row: AgreementRow) -> str:
    """How many of the most important heads two maps share; nothing where these are all heads."""
    if row.top_k >= row.heads:
        return ""
    return (
        f"; of the {row.top_k} most important heads they share {row.top_overlap:.0%} (chance "
        f"{row.top_expected:.0%}, p = {row.top_p:.2g})"
    )


def compare_maps(one: Map, other: Map, *, top_k: int = TOP_K) -> Comparison:
    """Agreement of two maps of models with the same layers and heads, such as two methods or two
    tasks.

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
    return compare_named(_labels(one, other), (one, other), top_k=top_k)


def compare_named(labels: Sequence[str], maps: Sequence[Map], *, top_k: int = TOP_K) -> Comparison:
    """Agreement of every pair of several maps, under the given labels."""
    measured = [_Measured(importance(head_map), halves(head_map)) for head_map in maps]
    names = _common_functions([measurement.values for measurement in measured])
    rows = []
    for function in names:
        chosen = [measurement.only(function) for measurement in measured]
        for (one, x), (other, y) in combinations(zip(labels, chosen, strict=True), 2):
            rows.append(_row((one, other), function, x, y, top_k))
    facts = [head_map.provenance for head_map in maps]
    model, task = (
        " / ".join(dict.fromkeys(str(fact.get(key)) for fact in facts)) for key in ("model", "task")
    )
    warnings = (
        f"{label}: {warning}"
        for label, head_map in zip(labels, maps, strict=True)
        for warning in head_map.warnings
    )
    names_of_maps = tuple(head_map.name for head_map in maps)
    return Comparison(names_of_maps, model, task, tuple(rows), tuple(warnings))


def importance(head_map: Map) -> xr.DataArray:
    """How much the task needs every head, larger for more, averaged over seeds."""
    ranking = importance_of(head_map)
    if "seed" in head_map.data.dims:
        head_map = head_map.aggregate("mean", skip_missing=True)
    return ranking.sign * head_map[ranking.variable]


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
        raise MapError("the two maps have no function in common.")
    return common


def _labels(one: Map, other: Map) -> tuple[str, str]:
    """Short names that tell two maps apart: by method, task or model, else by their whole names."""
    for key in ("method", "task", "model"):
        labels = tuple(str(head_map.provenance.get(key)) for head_map in (one, other))
        if labels[0] != labels[1]:
            return labels[0], labels[1]
    return one.name, other.name


@dataclass(frozen=True)
class _Measured:
    """The importance of heads in a map, and in the two halves that it was measured from."""

    values: xr.DataArray
    halves: Halves | None

    def each(self, change: Callable[[xr.DataArray], xr.DataArray]) -> _Measured:
        both = self.halves and self.halves._replace(
            one=change(self.halves.one), other=change(self.halves.other)
        )
        return _Measured(change(self.values), both)

    def only(self, function: str | None) -> _Measured:
        """One function, where there are functions."""
        return self.each(
            lambda values: (
                values.sel(function=function, drop=True) if "function" in values.dims else values
            )
        )

    def ceiling_with(self, other: _Measured) -> Ceiling:
        if self.halves is None or other.halves is None:
            return UNKNOWN
        own, others = (
            [half.transpose("layer", "head").to_numpy() for half in (pair.one, pair.other)]
            for pair in (self.halves, other.halves)
        )
        return ceiling_of(
            self.values.to_numpy(),
            other.values.to_numpy(),
            (own[0], own[1]),
            (others[0], others[1]),
            factors=(self.halves.factor, other.halves.factor),
        )


def _row(
    pair: tuple[str, str], function: str | None, x: _Measured, y: _Measured, top_k: int
) -> AgreementRow:
    try:
        xr.align(x.values, y.values, join="exact")
    except ValueError:
        sizes = x.values.sizes, y.values.sizes
        raise MapError(
            f"maps of different heads cannot be compared: {sizes[0]['layer']} layers × "
            f"{sizes[0]['head']} heads and {sizes[1]['layer']} × {sizes[1]['head']}."
        ) from None
    inside = x.each(_without_depth), y.each(_without_depth)
    plain, within = (
        agreement_of(one.values.to_numpy(), other.values.to_numpy(), top_k=top_k)
        for one, other in ((x, y), inside)
    )
    ceiling, ceiling_within = x.ceiling_with(y), inside[0].ceiling_with(inside[1])
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
    )


def _without_depth(values: xr.DataArray) -> xr.DataArray:
    return values - values.mean("head", skipna=True)
