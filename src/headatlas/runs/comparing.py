"""Which of many maps are compared with each other."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

from headatlas.errors import MapError
from headatlas.maps.compare import check_comparable, importance
from headatlas.maps.labels import method_label, model_of

if TYPE_CHECKING:
    import xarray as xr

    from headatlas.maps import Map

logger = logging.getLogger(__name__)

Facts = dict[str, str]


def groups(maps: Sequence[Map]) -> list[list[Map]]:
    """Maps that belong in one comparison, each group at least two; a map may be in several.

    Maps that say nothing about the importance of heads, and those that cannot be compared with the
    others of their group, are left out with a note.
    """
    scores: dict[str, xr.DataArray] = {}
    for head_map in maps:
        try:
            scores[head_map.name] = importance(head_map)
        except MapError as error:
            logger.warning("%s is not compared: %s", head_map.name, error)
    ranked = [head_map for head_map in maps if head_map.name in scores]
    alike = [_comparable(group, scores) for group in _sharing(ranked)]
    return [group for group in alike if len(group) > 1]


def mediation_pairs(maps: Sequence[Map]) -> list[tuple[Map, Map]]:
    """Every patching map with every gating map of the same model and task."""
    return [
        (one, other)
        for one, other in permutations(maps, 2)
        if (one.provenance.get("method"), other.provenance.get("method")) == ("patching", "gating")
        and one.provenance.get("task") == other.provenance.get("task")
        and model_of(one) == model_of(other)
    ]


def _sharing(maps: Sequence[Map]) -> list[list[Map]]:
    """Maps that share all but the method, all but the task, or all but the model."""
    found = []
    for varied in ("method", "task", "model"):
        sharing: dict[tuple[str, ...], list[Map]] = {}
        for head_map in maps:
            facts = _facts(head_map)
            shared = tuple(value for name, value in facts.items() if name != varied)
            sharing.setdefault(shared, []).append(head_map)
        for group in sharing.values():
            differs = len({_facts(head_map)[varied] for head_map in group}) > 1
            # equal methods differ in other settings; equal tasks and models are compared there
            if differs or (varied == "method" and len(group) > 1):
                found.append(group)
    return found or [list(maps)]


def _facts(head_map: Map) -> Facts:
    facts = head_map.provenance
    return {
        "method": method_label(head_map),
        "task": str(facts.get("task")),
        "model": model_of(head_map),
    }


def _comparable(maps: Sequence[Map], scores: Mapping[str, xr.DataArray]) -> list[Map]:
    """The maps that can all be compared with each other; those with most others come first."""
    partners = {
        one.name: sum(_reason([one, other], scores) is None for other in maps) for one in maps
    }
    kept: list[Map] = []
    for head_map in sorted(maps, key=lambda one: -partners[one.name]):
        reason = _reason([*kept, head_map], scores)
        if reason is None:
            kept.append(head_map)
        else:
            more = f" and {len(kept) - 1} more" if len(kept) > 1 else ""
            logger.warning(
                "%s is not compared with %s%s: %s", head_map.name, kept[0].name, more, reason
            )
    return [head_map for head_map in maps if head_map in kept]


def _reason(maps: Sequence[Map], scores: Mapping[str, xr.DataArray]) -> MapError | None:
    """Why maps cannot be compared with each other; `None` if they can."""
    try:
        check_comparable([scores[head_map.name] for head_map in maps])
    except MapError as error:
        return error
    return None
