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
        str | None, typer.Option("--map", help="Which map of the folder, if it has several.")
    ] = None,
    variable: Annotated[
        str | None, typer.Option(help="Which number of the map (default: its first).")
    ] = None,
) -> None:
    """Draw a figure from a stored map.

    \b
    Examples:
      headatlas plot atlas --out map.pdf
      headatlas plot atlas --variable effect_se --out spread.svg
    """
    from headatlas.cli.work import name_files
    from headatlas.maps import load_map
    from headatlas.plots import check_format, draw, save_figure
    from headatlas.runs.store import list_maps

    check_format(out)
    paths = list_maps(folder)
    if map_name is None and len(paths) > 1:
        raise HeadAtlasError(
            f"{folder} holds {len(paths)} maps: choose one with --map from {', '.join(paths)}."
        )
    chosen = map_name or next(iter(paths))
    if chosen not in paths:
        raise HeadAtlasError(f"no map '{chosen}' in {folder}: it holds {', '.join(paths)}.")
    name_files([save_figure(draw(figure, load_map(paths[chosen]), variable=variable), out)])
