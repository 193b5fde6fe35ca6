"""One map from the units of its seeds and parts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headatlas.maps import Map, combine
from headatlas.maps.map import HEAD_DIMS

if TYPE_CHECKING:
    import xarray as xr

    from headatlas.runs.engine import Outcome
    from headatlas.runs.store import Store
    from headatlas.runs.unit import Unit


def assemble(
    units: Sequence[Unit], outcome: Outcome, store: Store, facts: dict[str, Any]
) -> Map | None:
    """The map of all finished units; `None` if there are none.

    Finished seeds beyond the requested ones stay in the map if they have all its heads, and so do
    other heads: a map never loses what was computed. Facts on which the units agree are the map's
    own; `facts` are added to them. Counts of examples that differ between seeds become coordinates
    of the same name, a number per seed. A map says if it is unfinished, and which seeds diverged.
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
        whole.data.assign_coords(_counts_by_seed(parts, shared, whole.data)),
        {
            **shared,
            **facts,
            "seeds": seeds,
            **_unfinished(units, outcome),
            **_diverged(units, outcome),
        },
    )


def _counts_by_seed(
    parts: Sequence[Map], shared: Mapping[str, Any], data: xr.Dataset
) -> dict[str, tuple[str, list[float]]]:
    """Counts that the seeds of a map do not agree on; NaN for a seed that does not say.

    Counts by variable, `examples_of`, become one per variable: `examples_of_induction`.
    """
    counts: dict[str, dict[int, float]] = {}
    for part in parts:
        for name, count in part.provenance.items():
            if name in shared or not name.startswith(("examples_", "rows_")):
                continue
            own = count if isinstance(count, dict) else {"": count}
            for variable, number in own.items():
                key = f"{name}_{variable}" if variable else name
                counts.setdefault(key, {})[int(part.provenance["seed"])] = float(number)
    seeds = [int(seed) for seed in data["seed"].to_numpy()]
    return {
        name: ("seed", [of_seeds.get(seed, math.nan) for seed in seeds])
        for name, of_seeds in counts.items()
    }


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
