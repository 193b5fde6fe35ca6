"""headatlas plot"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headatlas.errors import HeadAtlasError


def plot(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File ending in .png, .svg or .pdf.")],
    figure: Annotated[
        str, typer.Option(help="Which figure; see 'headatlas list figures'.")
    ] = "heatmap",
    map_name: Annotated[
        list[str] | None,
        typer.Option("--map", help="Which maps of the folder (default: all that suit)."),
    ] = None,
    variable: Annotated[
        str | None, typer.Option(help="heatmap: which number of the map (default: its first).")
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(help="heatmap: how seeds are summed up: mean, median, always, any."),
    ] = None,
    palette: Annotated[
        str | None, typer.Option(help="always-any: red-green, or blue-orange (colour-blind safe).")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="trajectories: of which seed.")] = None,
) -> None:
    """Draw a figure from stored maps.

    \b
    Examples:
      headatlas plot atlas --out map.pdf
      headatlas plot atlas --figure always-any --palette blue-orange --out roles.svg
      headatlas plot atlas --variable effect_se --out spread.svg
    """
    from headatlas.cli.work import name_files
    from headatlas.maps import load_map
    from headatlas.plots import FIGURES, check_format, draw, save_figure
    from headatlas.runs.store import list_maps

    check_format(out)
    paths = list_maps(folder)
    for name in map_name or []:
        if name not in paths:
            raise HeadAtlasError(f"no map '{name}' in {folder}: it holds {', '.join(paths)}.")
    maps = {name: load_map(paths[name]) for name in map_name or paths}
    kind = FIGURES.get(figure)
    if kind is not None and not map_name:
        maps = {name: drawn for name, drawn in maps.items() if kind.suits(drawn)}
        if not maps:
            raise HeadAtlasError(f"no map in {folder} suits the figure {figure}.")
    if kind is not None and not kind.several and len(maps) > 1:
        raise HeadAtlasError(
            f"{folder} holds {len(maps)} maps: choose one with --map from {', '.join(maps)}."
        )
    settings = {"variable": variable, "rule": rule, "palette": palette, "seed": seed}
    name_files([save_figure(draw(figure, list(maps.values()), **settings), out)])
