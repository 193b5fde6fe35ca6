"""Maps of cognitive functions: which heads count for each, and what a causal check says of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headatlas.maps.order import Head, heads_by
from headatlas.stats.elbow import elbow

if TYPE_CHECKING:
    from headatlas.maps.map import Map

LEVEL = 0.05
CAUSAL = {True: "more than random", False: "less than random", None: "not shown to do more"}
"""What masking a function's heads does to it, compared with masking random heads."""

UNCHECKED = "not checked"


@dataclass(frozen=True)
class Ranked:
    """A function's heads, the most important first; the first `elbow` lie before the bend."""

    heads: tuple[Head, ...]
    elbow: int

    @property
    def chosen(self) -> list[Head]:
        """The heads before the elbow."""
        return list(self.heads[: self.elbow])


@dataclass(frozen=True)
class HeadCount:
    """Number of heads of a function: before the elbow; beyond what shuffled labels give, in every
    seed; and both."""

    elbow: int
    significant: int
    both: int


def is_probing(head_map: Map) -> bool:
    """Whether a map holds the importance of heads for functions."""
    return {"importance", "importance_p"} <= set(head_map.variables)


def function_names(head_map: Map) -> list[str]:
    """The functions of a map, in its order."""
    return [str(name) for name in head_map.data["function"].to_numpy()]


def ranked_heads(head_map: Map) -> dict[str, Ranked]:
    """Every function's heads in the order of their mean importance."""
    mean = head_map.aggregate("mean", skip_missing=True)["importance"]
    ranked = {}
    for name in function_names(head_map):
        values = mean.sel(function=name)
        ranked[name] = Ranked(tuple(heads_by(values)), elbow(values.to_numpy()))
    return ranked


def head_counts(head_map: Map, level: float = LEVEL) -> dict[str, HeadCount]:
    """How many heads count for every function, by two rules."""
    counts = {}
    for name, ranked in ranked_heads(head_map).items():
        beyond = head_map["importance_p"].sel(function=name).max("seed") <= level
        both = sum(bool(beyond.sel(layer=layer, head=head)) for layer, head in ranked.chosen)
        counts[name] = HeadCount(ranked.elbow, int(beyond.sum()), both)
    return counts


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
