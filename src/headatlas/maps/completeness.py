"""Whether integrated gradients explain the whole effect of removing all heads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headatlas.maps.map import Map

MAX_UNEXPLAINED = 0.02
"""Share of the whole effect that a map may leave unexplained without a warning."""


def completeness_warnings(head_map: Map) -> list[str]:
    """A sentence if the effects of a map do not sum to that of removing all heads; else nothing.

    The worst seed counts. Maps that are not of integrated gradients say nothing of it.
    """
    if "unexplained_share" not in head_map.data.coords:
        return []
    worst = float(head_map.data["unexplained_share"].max())
    if not worst > MAX_UNEXPLAINED:  # also where there is nothing to explain
        return []
    return [
        f"the effects leave {worst:.0%} of what removing all heads does unexplained (at most "
        f"{MAX_UNEXPLAINED:.0%}): use more steps, or the replacement mean or resample"
    ]
