"""Figures of what an atlas holds: redrawn by name, or written as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.checks.results import (
    RESULTS,
    ContrastCheck,
    FunctionCheck,
    GatingCheck,
    ProbeReport,
    Result,
)
from headatlas.errors import HeadAtlasError, PlotError
from headatlas.maps import Comparison, Map
from headatlas.maps.functions import is_probing
from headatlas.maps.naming import joint_name
from headatlas.maps.roles import is_gating
from headatlas.plots import FIGURES, draw, save_in_all_formats
from headatlas.runs.store import Store, find_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headatlas.runs.atlas import Atlas

FUNCTION_FIGURES = ("functions", "function-layers", "function-overlap", "head-profiles")
CHECK_FIGURES: dict[type[Result], tuple[str, ...]] = {
    GatingCheck: ("toggling",),
    FunctionCheck: ("masking", "specificity", "strengthening"),
    ProbeReport: ("confusion",),
    ContrastCheck: ("contrast",),
    Comparison: ("agreement",),
}
"""The figures that are written of every kind of result."""


def draw_stored(
    atlas: Atlas, figure: str, names: Sequence[str], settings: dict[str, Any]
) -> Figure:
    """A figure from the maps or results of the folder that suit it."""
    store = atlas.store
    if figure not in FIGURES:
        raise PlotError(f"no figure '{figure}': there are {', '.join(FIGURES)}.")
    things: list[tuple[str, Map | Result]] = [*atlas.maps().items(), *stored_results(store).items()]
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
            f"choose one with --map from {', '.join(chosen)}."
        )
    return draw(figure, [suited[name] for name in chosen], **settings)


def stored_results(store: Store) -> dict[str, Result]:
    """The results of checks in the folder, by the name of their file."""
    results = {}
    for path in sorted((store.folder / "checks").glob("*.json")):
        content = store.read_json(f"checks/{path.name}")
        if content is not None and content.get("kind") in RESULTS:
            results[path.name.removesuffix(".json")] = RESULTS[content["kind"]].from_dict(content)
    return results


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
            for figure in CHECK_FIGURES[type(thing)]:
                paths += _write(figure, [thing], result_name(thing), store)
    return paths


def result_name(result: Result) -> str:
    """What files of a result are called: the map that was checked, or all maps of a contrast."""
    if isinstance(result, ContrastCheck):
        return joint_name(list(result.maps))
    if isinstance(result, GatingCheck | FunctionCheck | ProbeReport):
        return result.about.map
    if isinstance(result, Comparison):
        return joint_name(list(result.maps))
    raise HeadAtlasError(f"a {result.kind} has no files of its own.")


def _write(
    figure: str, things: Sequence[Map] | Sequence[Result], name: str, store: Store
) -> list[Path]:
    base = store.figure_base(name, figure)
    return [store.note(path) for path in save_in_all_formats(draw(figure, list(things)), base)]
