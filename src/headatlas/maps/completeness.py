"""Whether integrated gradients explain the whole effect of removing all heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headatlas.maps.map import Map

MAX_UNEXPLAINED = 0.02
"""Share of the whole effect that a map may leave unexplained without a warning, and an example of a
map before it takes more points."""

UNEXPLAINED = {"unexplained_share": "", "unexplained_by_example": " to an example"}
"""Coordinates that say what a map leaves unexplained, and of what."""


def completeness_warnings(head_map: Map) -> list[str]:
    """A sentence if the effects of a map do not sum to that of removing all heads; else nothing.

    The worst seed counts, and the errors on single examples where they are known: in the mean those
    of opposite signs cancel. Maps that are not of integrated gradients say nothing of it.
    """
    known = [name for name in UNEXPLAINED if name in head_map.data.coords]
    if not known:
        return []
    worst, name = max((float(head_map.data[name].max()), name) for name in known)
    if not worst > MAX_UNEXPLAINED:  # also where there is nothing to explain
        return []
    return [
        f"the effects leave {worst:.0%} of what removing all heads does{UNEXPLAINED[name]} "
        f"unexplained (at most {MAX_UNEXPLAINED:.0%}): use more steps, or the replacement mean or "
        "resample"
    ]
