"""One map from the units of its seeds and parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headatlas.maps import Map, combine
from headatlas.maps.map import HEAD_DIMS

if TYPE_CHECKING:
    from headatlas.runs.engine import Outcome
    from headatlas.runs.store import Store
    from headatlas.runs.unit import Unit


def assemble(
    units: Sequence[Unit], outcome: Outcome, store: Store, facts: dict[str, Any]
) -> Map | None:
    """The map of all finished units; `None` if there are none.

    Finished seeds beyond the requested ones stay in the map if they have all its heads, and so do
    other heads: a map never loses what was computed. Facts on which the units agree are the map's
    own; `facts` are added to them. A map says if it is unfinished, and which seeds diverged.
    """
    parts = [outcome.maps[unit.key] for unit in units if unit.key in outcome.maps]
    others = store.others(units[0].group, units)
    wanted = {unit.seed for unit in units}
    parts += [part for part in others if part.provenance["seed"] in wanted]
    if not parts:
        return None
    whole = combine(parts)
    further = [part for part in others if part.provenance["seed"] not in wanted]
    for seed_map in _by_seed(further):
        if _covers(seed_map, whole):
            parts.append(seed_map)
            whole = combine([whole, seed_map])
    shared = {
        key: value
        for key, value in whole.provenance.items()
        if all(part.provenance.get(key) == value for part in parts)
    }
    seeds = sorted({int(part.provenance["seed"]) for part in parts})
    return Map(
        whole.data,
        {
            **shared,
            **facts,
            "seeds": seeds,
            **_unfinished(units, outcome),
            **_diverged(units, outcome),
        },
    )


def _by_seed(parts: Sequence[Map]) -> list[Map]:
    """One map per seed."""
    seeds: dict[int, list[Map]] = {}
    for part in parts:
        seeds.setdefault(int(part.provenance["seed"]), []).append(part)
    return [combine(own) for own in seeds.values()]


def _covers(seed_map: Map, whole: Map) -> bool:
    """Whether a seed has every head that the requested seeds have."""
    name = seed_map.variables[0]
    own, wanted = (
        head_map[name].notnull().any([dim for dim in head_map[name].dims if dim not in HEAD_DIMS])
        for head_map in (seed_map, whole)
    )
    return bool((own | ~wanted).all())


def _diverged(units: Sequence[Unit], outcome: Outcome) -> dict[str, dict[str, str]]:
    """Which seeds diverged, and why; nothing if none did."""
    reasons = {
        str(unit.seed): outcome.failed[unit.key] for unit in units if unit.key in outcome.failed
    }
    return {"diverged_seeds": reasons} if reasons else {}


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
