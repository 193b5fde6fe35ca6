"""Figures of what an atlas holds: redrawn by name, or written as files."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.checks.kinds import CHECKS
from headatlas.checks.results import RESULTS, Result
from headatlas.errors import HeadAtlasError, PlotError, StoreError
from headatlas.maps import Map
from headatlas.maps.functions import is_probing
from headatlas.maps.naming import joint_name
from headatlas.maps.roles import is_gating
from headatlas.plots import FIGURES, draw, save_in_all_formats
from headatlas.runs.store import Store, find_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headatlas.runs.atlas import Atlas

FUNCTION_FIGURES = ("functions", "function-layers", "function-overlap", "head-profiles")

logger = logging.getLogger(__name__)


def draw_stored(
    atlas: Atlas, figure: str, names: Sequence[str], settings: dict[str, Any]
) -> Figure:
    """A figure from the maps or results of the folder that suit it."""
    store = atlas.store
    if figure not in FIGURES:
        raise PlotError(f"no figure '{figure}': there are {', '.join(FIGURES)}.")
    maps = atlas.maps()
    things: list[tuple[str, Map | Result]] = [
        *maps.items(),
        *stored_results(store, maps).items(),
    ]
    kind = FIGURES[figure].kind
    suited = {name: thing for name, thing in things if FIGURES[figure].suits(thing)}
    if not suited:
        raise HeadAtlasError(f"the figure {figure} shows a {kind}, and {store.folder} holds none.")
    chosen = list(suited)
    if names:
        chosen = list(dict.fromkeys(find_name(part, list(suited)) for part in names))
    if len(chosen) > 1 and not FIGURES[figure].several:
        raise HeadAtlasError(
            f"the figure {figure} shows one {kind}, and {store.folder} holds {len(chosen)}: "
            f"choose one with --map (names=) from {', '.join(chosen)}."
        )
    return draw(figure, [suited[name] for name in chosen], **settings)


def stored_results(store: Store, maps: Mapping[str, Map]) -> dict[str, Result]:
    """The results of checks in the folder, by the name of their file.

    Damaged results, those of another version, and those of a map that has changed since are left
    out with a note.
    """
    results = {}
    versions = {check.result.kind: check.version for check in CHECKS.values()}
    for path in sorted((store.folder / "checks").glob("[!.]*.json")):
        content = store.read_json(f"checks/{path.name}")
        if content is None or content.get("kind") not in RESULTS:
            continue
        if _is_outdated(content, maps):
            logger.warning("%s is left out: its map has changed since.", path.name)
            continue
        version = versions.get(content["kind"])
        if version is not None and version != content["about"].get("version"):
            logger.warning("%s is left out: it is of another version. Check again.", path.name)
            continue
        try:
            results[path.stem] = RESULTS[content["kind"]].from_dict(content)
        except StoreError as error:
            logger.warning("%s is left out: %s", path.name, error)
    return results


def _is_outdated(content: Mapping[str, Any], maps: Mapping[str, Map]) -> bool:
    """Whether a map that a stored result is of has changed since."""
    about = content.get("about")
    checked: dict[Any, Any] = {}
    if isinstance(about, dict):
        checked[about.get("map")] = about.get("map_hash")
    if "map_hashes" in content:
        checked |= dict(zip(content["maps"], content["map_hashes"], strict=False))
    return any(name in maps and maps[name].digest != digest for name, digest in checked.items())


def write_figures(things: Sequence[Map | Result], store: Store) -> list[Path]:
    """The standard figures of maps and results; gating maps share one."""
    gating = [thing for thing in things if isinstance(thing, Map) and is_gating(thing)]
    paths = []
    if gating:
        name = joint_name([head_map.name for head_map in gating])
        paths += _write("always-any", gating, name, store)
    for thing in things:
        if isinstance(thing, Map):
            if is_probing(thing):
                for figure in FUNCTION_FIGURES:
                    paths += _write(figure, [thing], thing.name, store)
            elif not is_gating(thing):
                paths += _write("heatmap", [thing], thing.name, store)
        else:
            for figure in thing.figures:
                paths += _write(figure, [thing], thing.file_name, store)
    return paths


def _write(
    figure: str, things: Sequence[Map] | Sequence[Result], name: str, store: Store
) -> list[Path]:
    base = store.figure_base(name, figure)
    return [store.note(path) for path in save_in_all_formats(draw(figure, list(things)), base)]
