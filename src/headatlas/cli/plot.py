"""headatlas plot"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.screen import name_files


def plot(
    folder: given.Folder,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="File ending in .png, .svg or .pdf.")],
    figure: Annotated[
        str, typer.Option(help="Which figure; see 'headatlas list figures'.")
    ] = "heatmap",
    map_name: given.MapNames = None,
    variable: Annotated[
        str | None, typer.Option(help="heatmap: which number of the map (default: its first).")
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option(help="heatmap: how seeds are aggregated: mean, median, always, any."),
    ] = None,
    palette: Annotated[
        str | None, typer.Option(help="always-any: red-green, or blue-orange (colour-blind safe).")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="trajectories: which seed to show (default: the first).")
    ] = None,
) -> None:
    """Draw a figure from the maps and checks of a folder.

    \b
    Examples:
      headatlas plot atlas --map ablation --out map.pdf
      headatlas plot atlas --figure always-any --palette blue-orange --out roles.svg
      headatlas plot atlas --figure toggling --out toggling.pdf
      headatlas plot atlas --map ablation --variable effect_se --out errors.svg
    """
    ha.check_format(out)
    settings = {"variable": variable, "rule": rule, "palette": palette, "seed": seed}
    with given.stored_atlas(folder) as atlas:
        picture = atlas.plot(figure, *(map_name or ()), **settings)
        name_files([ha.save_figure(picture, out)])
