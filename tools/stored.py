"""What docs/results/ holds: maps, checks and records of the stored runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import headatlas as ha

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"


def atlas_of(run: str) -> ha.Atlas:
    """The atlas of a stored run."""
    return ha.Atlas(RESULTS / run, progress=None)


def maps_of(run: str) -> dict[str, ha.Map]:
    """The gating and contrast maps of a run by task."""
    if not (RESULTS / run / "maps").is_dir():
        return {}
    return {
        str(head_map.provenance["task"]): head_map
        for head_map in atlas_of(run).maps().values()
        if head_map.provenance["method"] in ("gating", "contrast")
    }


def equal_seeds(maps: dict[str, ha.Map]) -> dict[str, ha.Map]:
    """The maps with equal numbers of seeds, the first of each: *any* grows with their number."""
    seeds = {task: head_map["seed"].to_numpy().tolist() for task, head_map in maps.items()}
    fewest = min(len(own) for own in seeds.values())
    return {task: head_map.sel(seed=seeds[task][:fewest]) for task, head_map in maps.items()}


def checks_of(run: str) -> dict[str, ha.GatingCheck]:
    """The checks of a run by task."""
    results = {task: atlas_of(run).result(head_map) for task, head_map in maps_of(run).items()}
    return {task: check for task, check in results.items() if isinstance(check, ha.GatingCheck)}


def record(name: str) -> dict[str, Any]:
    """Plain data beside the page."""
    content: dict[str, Any] = json.loads((RESULTS / name).read_text(encoding="utf-8"))
    return content
