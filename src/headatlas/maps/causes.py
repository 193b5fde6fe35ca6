"""Marks on a map of functions: do the heads that it names do anything?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headatlas.maps.map import Map

CAUSES = {True: "more than random", False: "less than random", None: "not shown to do more"}
"""What masking a function's heads does to it, beside masking random ones."""

UNCHECKED = "not checked"


def causes_of(masking: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The mark of every function, from the rows of a check that mask the heads before the elbow."""
    return {str(row["function"]): CAUSES[row["holds"]] for row in masking if row["elbow"]}


def mark_causes(drawn: Map, causes: Mapping[str, str], questions: int) -> Map:
    """The map with the coordinate `causal` beside its functions, and how many questions said so."""
    names = [str(name) for name in drawn.data["function"].to_numpy()]
    marks = [causes.get(name, UNCHECKED) for name in names]
    facts = {**drawn.provenance, "causal_questions": questions}
    return Map(drawn.data.assign_coords(causal=("function", marks)), facts)


def weak_functions(drawn: Map) -> list[str]:
    """The functions whose heads, as far as was checked, do no more than random ones."""
    if "causal" not in drawn.data.coords:
        return []
    marks = zip(drawn.data["function"].to_numpy(), drawn.data["causal"].to_numpy(), strict=True)
    return [str(name) for name, mark in marks if mark in (CAUSES[False], CAUSES[None])]
