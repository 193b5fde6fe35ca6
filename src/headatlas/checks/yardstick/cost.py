"""What a map cost, in forward passes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from headatlas.methods import METHODS

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.model import Model


def forward_passes(head_map: Map, model: Model) -> float:
    """Forward passes of one example that a map took, over all seeds; NaN where it is not known.

    A method that does not know beforehand counts them, in the map's coordinate `forward_passes`.
    """
    if "forward_passes" in head_map.data.coords:
        return float(head_map.data["forward_passes"].sum())
    facts = head_map.provenance
    settings = {name: _frozen(value) for name, value in dict(facts["settings"]).items()}
    kind = METHODS.get(str(facts["method"]))
    if kind is None or kind.version != facts.get("method_version"):
        return math.nan
    seeds = int(head_map.data.sizes.get("seed", 1))
    examples = int(facts.get("examples_used", 0))
    return seeds * kind(**settings).forward_passes(model, examples)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
