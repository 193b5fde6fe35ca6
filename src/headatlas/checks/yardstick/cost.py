"""What a map cost, in forward passes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from headatlas.maps.labels import count_of_seeds
from headatlas.methods import METHODS
from headatlas.methods.example_method import ExampleMethod

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.model import Model


def forward_passes(head_map: Map, model: Model) -> float:
    """Forward passes of one example that a map took, over all seeds; NaN where it is not known.

    A method that does not know beforehand counts them, in the map's coordinate `forward_passes`.
    """
    if "forward_passes" in head_map.data.coords:
        return float(head_map.data["forward_passes"].sum(skipna=False))
    facts = head_map.provenance
    settings = {name: _frozen(value) for name, value in dict(facts["settings"]).items()}
    kind = METHODS.get(str(facts["method"]))
    if kind is None or kind.version != facts.get("method_version"):
        return math.nan
    method = kind(**settings)
    if not isinstance(method, ExampleMethod):  # its passes do not depend on a number of examples
        return method.forward_passes(model, 0) * len(count_of_seeds(head_map))
    name = "rows_used" if method.takes_rows() else "examples_used"
    counts = count_of_seeds(head_map, name)
    if any(map(math.isnan, counts)):
        return math.nan
    return math.fsum(method.forward_passes(model, int(count)) for count in counts)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
