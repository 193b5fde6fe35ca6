"""The leaderboard of an atlas: all maps that were judged by the yardstick."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.checks.results import Faithfulness
from headatlas.checks.yardstick.leaderboard import rank_maps
from headatlas.errors import HeadAtlasError
from headatlas.maps.labels import evidence, method_label
from headatlas.runs.checking import find_check, stored_result

if TYPE_CHECKING:
    from headatlas.checks.results import Leaderboard
    from headatlas.maps import Map
    from headatlas.runs.store import Store


def stored_leaderboard(maps: list[Map], store: Store, **options: str | None) -> Leaderboard:
    """The leaderboard of the maps whose faithfulness is stored, for the model that has most."""
    results: dict[str, list[Faithfulness]] = {}
    for head_map in maps:
        try:
            check = find_check(head_map, "faithfulness", **options)
        except HeadAtlasError:
            continue  # not a map that can be judged
        result = stored_result(head_map, check, store)
        if isinstance(result, Faithfulness):
            results.setdefault(result.about.model, []).append(result)
    if not results:
        raise HeadAtlasError(
            f"no map in {store.folder} was judged by the yardstick: run 'headatlas check' first."
        )
    most = max(results.values(), key=len)
    return rank_maps(_distinct(most, maps), _seconds(store))


def _distinct(results: list[Faithfulness], maps: list[Map]) -> list[Faithfulness]:
    """One result per task and method; of maps with the same label, that of the most examples."""
    by_name = {head_map.name: head_map for head_map in maps}
    chosen: dict[tuple[str, str], Faithfulness] = {}
    for result in results:
        key = (result.about.task, method_label(by_name[result.about.map]))
        before = chosen.get(key)
        if before is not None:
            maps_of_both = by_name[result.about.map], by_name[before.about.map]
            if evidence(maps_of_both[0]) <= evidence(maps_of_both[1]):
                continue
        chosen[key] = result
    return list(chosen.values())


def _seconds(store: Store) -> dict[str, float]:
    """What the units of every map took, all runs together; by the name of the map."""
    units: dict[str, float] = {}
    for run in (store.read_json("run.json") or {}).get("runs", []):
        units.update(run.get("units", {}).get("computed", {}))
    found: dict[str, float] = {}
    for name in store.map_paths():
        key = name.rpartition("-")[2]
        own = [took for unit, took in units.items() if unit.startswith(key)]
        if own:
            found[name] = float(sum(own))
    return found
