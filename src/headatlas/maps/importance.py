"""Which variable of a map says how important a head is, and how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headatlas.errors import MapError

if TYPE_CHECKING:
    from headatlas.maps.map import Map


@dataclass(frozen=True)
class Importance:
    """A variable that ranks heads: the sign that makes larger mean more important, what the ranked
    score is, and what helps if no head is significant."""

    variable: str
    sign: int
    label: str
    advice: str


IMPORTANCE = (
    Importance("facilitation", 1, "mean facilitation over seeds", "use more seeds"),
    Importance("importance", 1, "mean importance over seeds", "use more examples"),
    Importance("effect", -1, "fall of log P when removed (nats per token)", "use more examples"),
    Importance("gate", -1, "1 − mean gate over seeds", "use more seeds"),
)
"""The first whose variable a map has ranks its heads."""


def importance_of(head_map: Map) -> Importance:
    """What ranks the heads of a map."""
    for importance in IMPORTANCE:
        if importance.variable in head_map.variables:
            return importance
    have = ", ".join(head_map.variables)
    raise MapError(f"this map says nothing about the importance of heads: it has {have}.")
