"""One map from the units of its seeds and parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headatlas.maps import Map, combine

if TYPE_CHECKING:
    from headatlas.runs.engine import Outcome
    from headatlas.runs.store import Store
    from headatlas.runs.unit import Unit


def assemble(
    units: Sequence[Unit], outcome: Outcome, store: Store, facts: dict[str, Any]
) -> Map | None:
    """The map of all finished units; `None` if there are none.

    Finished seeds that were not asked for this time stay in the map, and so do other heads: a map
    never loses what was computed. Facts on which the units agree are the map's own; `facts` are
    added to them. A map of a run that is not finished says so.
    """
    wanted = {unit.seed for unit in units}
    parts = [outcome.maps[unit.key] for unit in units if unit.key in outcome.maps]
    parts += _complete(store.others(units[0].group, units), wanted, len(units) // len(wanted))
    if not parts:
        return None
    whole = combine(parts)
    shared = {
        key: value
        for key, value in whole.provenance.items()
        if all(part.provenance.get(key) == value for part in parts)
    }
    seeds = sorted({int(part.provenance["seed"]) for part in parts})
    unfinished = _unfinished(units, outcome)
    return Map(whole.data, {**shared, **facts, "seeds": seeds, **unfinished})


def _complete(others: Sequence[Map], wanted: set[int], parts: int) -> list[Map]:
    """Of other units, those of the wanted seeds and those of seeds that are complete."""
    by_seed: dict[int, list[Map]] = {}
    for part in others:
        by_seed.setdefault(int(part.provenance["seed"]), []).append(part)
    return [
        part
        for seed, found in by_seed.items()
        if seed in wanted or len(found) >= parts
        for part in found
    ]


def _unfinished(units: Sequence[Unit], outcome: Outcome) -> dict[str, str]:
    """What is missing, in words; nothing if all units are done or have failed for good."""
    done = [unit for unit in units if unit.key in outcome.maps or unit.key in outcome.failed]
    if len(done) == len(units):
        return {}
    seeds = sorted({unit.seed for unit in units})
    per_seed = len(units) // len(seeds)
    if len(seeds) == 1:
        return {"unfinished": f"{len(done)} of {len(units)} parts"}
    finished = sum(sum(unit.seed == seed for unit in done) == per_seed for seed in seeds)
    return {"unfinished": f"{finished} of {len(seeds)} seeds"}
