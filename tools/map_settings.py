"""How the maps of a run were made, from what the maps say themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import headatlas as ha
from headatlas.maps.labels import method_label
from headatlas.methods import METHODS

COLUMNS = ("maps", "tasks", "seeds", "examples", "settings other than the default")


def settings_rows(maps: Iterable[ha.Map]) -> list[list[str]]:
    """A row for the maps of a method that were made alike, with their tasks."""
    tasks: dict[tuple[str, ...], list[str]] = {}
    for head_map in maps:
        made = (method_label(head_map), _seeds(head_map), _examples(head_map), _changed(head_map))
        tasks.setdefault(made, []).append(str(head_map.provenance.get("task")))
    return [[label, ", ".join(sorted(own)), *made] for (label, *made), own in sorted(tasks.items())]


def _seeds(head_map: ha.Map) -> str:
    return str(head_map.data.sizes.get("seed", 1))


def _examples(head_map: ha.Map) -> str:
    """The number of examples of a seed, where the map tells it."""
    settings = dict(head_map.provenance.get("settings", {}))
    count = head_map.provenance.get("examples_used", settings.get("examples"))
    return "" if count is None else str(count)


def _changed(head_map: ha.Map) -> str:
    """Settings that the method does not have by itself."""
    usual = _defaults(str(head_map.provenance.get("method")))
    settings = dict(head_map.provenance.get("settings", {}))
    changed = {
        name: value
        for name, value in settings.items()
        if name != "examples" and (name not in usual or usual[name] != value)
    }
    return ", ".join(f"{name} {value}" for name, value in changed.items())


def _defaults(method: str) -> dict[str, Any]:
    return METHODS[method]().settings() if method in METHODS else {}
