"""Maps of cognitive functions: which heads count for each, and what a causal check says of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headatlas.maps.order import Head, heads_by
from headatlas.stats.elbow import Elbow, elbow, resampled_elbow

if TYPE_CHECKING:
    import xarray as xr

    from headatlas.maps.map import Map

ALPHA = 0.05
CAUSAL = {True: "more than random", False: "less than random", None: "not shown to do more"}
"""What masking a function's heads does to it, compared with masking random heads."""

UNCHECKED = "not checked"


@dataclass(frozen=True)
class Ranked:
    """A function's heads, the most important first; the first `elbow` lie before the bend.

    95 % of resampled maps (other questions, other seeds) have the bend between `elbow_low` and
    `elbow_high`. `significant` heads exceed in every seed what shuffled labels give.
    """

    heads: tuple[Head, ...]
    elbow: int
    elbow_low: int | None = None
    elbow_high: int | None = None
    significant: frozenset[Head] = frozenset()

    @property
    def chosen(self) -> list[Head]:
        """The heads before the elbow."""
        return list(self.heads[: self.elbow])

    @property
    def doubtful(self) -> list[Head]:
        """The heads before the elbow that are no more important than shuffled labels make them."""
        return [head for head in self.chosen if head not in self.significant]


@dataclass(frozen=True)
class HeadCount:
    """Number of heads of a function: before the elbow, with its 95 % range over resampled maps;
    beyond what shuffled labels give, in every seed; and both."""

    elbow: int
    elbow_low: int | None
    elbow_high: int | None
    significant: int
    both: int


def is_probing(head_map: Map) -> bool:
    """Whether a map holds the importance of heads for functions."""
    return {"importance", "importance_p"} <= set(head_map.variables)


def function_names(head_map: Map) -> list[str]:
    """The functions of a map, in its order."""
    return [str(name) for name in head_map.data["function"].to_numpy()]


def ranked_heads(head_map: Map, level: float = ALPHA) -> dict[str, Ranked]:
    """Every function's heads in the order of their mean importance.

    The elbow is the median over maps resampled from seeds and, where the map keeps the importance
    in parts of the questions, from those. A map of one seed without parts has the elbow of its
    curve, and no range.
    """
    data = head_map.data if "seed" in head_map.data.dims else head_map.data.expand_dims("seed")
    ranked = {}
    for name in function_names(head_map):
        own = data.sel(function=name)
        mean = own["importance"].mean("seed", skipna=True)
        passed = own["importance_p"].max("seed") <= level
        significant = frozenset(heads_by(mean.where(passed)))
        bend = _elbow(own)
        ranked[name] = Ranked(
            heads=tuple(heads_by(mean)),
            elbow=bend.count if bend else elbow(mean.to_numpy()),
            elbow_low=bend.low if bend else None,
            elbow_high=bend.high if bend else None,
            significant=significant,
        )
    return ranked


def _elbow(own: xr.Dataset) -> Elbow | None:
    """The resampled elbow of one function; `None` where there is nothing to resample."""
    if "importance_part" in own:
        parts, sizes = own["importance_part"], own["part_examples"].to_numpy()
    elif own.sizes["seed"] > 1:
        parts, sizes = own["importance"].expand_dims("part"), np.ones(1)
    else:
        return None
    known = parts.fillna(parts.mean("seed", skipna=True))  # a seed may be unfinished
    values = known.transpose("part", "seed", "layer", "head").to_numpy()
    return resampled_elbow(values.reshape(*values.shape[:2], -1), sizes)


def head_counts(head_map: Map, level: float = ALPHA) -> dict[str, HeadCount]:
    """How many heads count for every function, by two rules."""
    return {
        name: HeadCount(
            ranked.elbow,
            ranked.elbow_low,
            ranked.elbow_high,
            len(ranked.significant),
            ranked.elbow - len(ranked.doubtful),
        )
        for name, ranked in ranked_heads(head_map, level).items()
    }


def with_marks(head_map: Map, holds: Mapping[str, bool | None], questions: int) -> Map:
    """The map with the coordinate `causal` beside its functions, from a causal check.

    `holds` says for every checked function whether masking its heads harms it more than masking
    random heads does (`None`: undecided); `questions` is how many test questions decided.
    """
    from headatlas.maps.map import Map

    marks = [
        CAUSAL[holds[name]] if name in holds else UNCHECKED for name in function_names(head_map)
    ]
    facts = {**head_map.provenance, "causal_questions": questions}
    return Map(head_map.data.assign_coords(causal=("function", marks)), facts)


def weak_functions(head_map: Map) -> list[str]:
    """The functions whose heads were checked and not shown to do more than random ones."""
    if "causal" not in head_map.data.coords:
        return []
    marks = zip(function_names(head_map), head_map.data["causal"].to_numpy(), strict=True)
    return [name for name, mark in marks if mark in (CAUSAL[False], CAUSAL[None])]
