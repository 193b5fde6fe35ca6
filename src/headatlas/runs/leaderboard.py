"""The leaderboard of an atlas: all maps that were judged by the yardstick."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headatlas.checks.kinds import CHECKS
from headatlas.checks.results import Faithfulness
from headatlas.checks.yardstick.leaderboard import rank_maps
from headatlas.checks.yardstick.order import can_be_judged
from headatlas.errors import HeadAtlasError
from headatlas.maps.labels import evidence, method_label
from headatlas.methods.measures import check_measure
from headatlas.methods.replacement import REMOVALS, check_replacement
from headatlas.runs.checking import find_check, stored_result, was_checked

if TYPE_CHECKING:
    from headatlas.checks.results import Leaderboard
    from headatlas.maps import Map
    from headatlas.runs.store import Store

logger = logging.getLogger(__name__)


def stored_leaderboards(maps: list[Map], store: Store, **options: str | None) -> list[Leaderboard]:
    """The leaderboards of the maps whose faithfulness is stored: one per model, that of the model
    with most maps first. Every map that is not ranked is logged with the reason."""
    usual = CHECKS["faithfulness"].with_options(**options).options
    check_replacement(usual["replacement"], REMOVALS)
    check_measure(usual["measure"])
    results: dict[str, list[Faithfulness]] = {}
    outdated: dict[str, list[str]] = {}
    for head_map in maps:
        if not can_be_judged(head_map):
            continue
        check = find_check(head_map, "faithfulness", **options)
        result = stored_result(head_map, check, store)
        if isinstance(result, Faithfulness):
            results.setdefault(result.model_hash, []).append(result)
        elif was_checked(head_map, check, store):
            of_model = str(head_map.provenance["model_hash"])
            outdated.setdefault(of_model, []).append(f"{head_map.name} (judged before it changed)")
    if not results:
        raise HeadAtlasError(
            f"no map in {store.folder} was judged by the yardstick: run 'headatlas check' first."
        )
    seconds, boards = _seconds(store), []
    for own in sorted(results.values(), key=len, reverse=True):
        chosen, left_out = _distinct(own, maps)
        others = [some[0].about.model for some in results.values() if some is not own]
        left_out += outdated.get(own[0].model_hash, [])
        board = rank_maps(chosen, seconds, left_out=left_out, other_models=others)
        for note in board.left_out:
            logger.info("not on the leaderboard: %s", note)
        boards.append(board)
    return boards


def _distinct(results: list[Faithfulness], maps: list[Map]) -> tuple[list[Faithfulness], list[str]]:
    """One result per task and method, and a note on every other: of maps with the same label, that
    of the most examples."""
    by_name = {head_map.name: head_map for head_map in maps}
    chosen: dict[tuple[str, ...], Faithfulness] = {}
    left_out = []
    for result in results:
        own = by_name[result.about.map]
        key = (*result.comparable, method_label(own))
        before = chosen.setdefault(key, result)
        if before is result:
            continue
        if evidence(own) > evidence(by_name[before.about.map]):
            chosen[key], result = result, before
        left_out.append(
            f"{result.about.map} (superseded by {chosen[key].about.map}, also by {key[-1]}, which "
            "uses at least as many examples)"
        )
    return list(chosen.values()), left_out


def _seconds(store: Store) -> dict[str, float]:
    """What the units of every map took, all runs together, by the name of the map; of maps with a
    unit whose time is not known, nothing."""
    took = store.seconds()
    units = [path.stem for path in store.units.glob("[!.]*.nc")]
    found: dict[str, float] = {}
    for name in store.map_paths():
        key = name.rpartition("-")[2]
        own = [unit for unit in units if unit.startswith(key)]
        if own and took.keys() >= set(own):
            found[name] = sum(took[unit] for unit in own)
    return found
