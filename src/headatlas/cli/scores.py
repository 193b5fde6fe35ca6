"""headatlas scores"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.screen import name_files, note


def scores(
    folder: given.Folder,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="File: .json, .csv or .safetensors.")],
    map_name: given.MapName = None,
    task: Annotated[str | None, typer.Option("--task", "-t", help="The map of this task.")] = None,
    method: Annotated[
        str | None, typer.Option(help="The map of this method: ablation, gating, …")
    ] = None,
    function: Annotated[
        str | None, typer.Option(help="Scores for this function alone, of a map of functions.")
    ] = None,
    d_model: Annotated[
        int | None,
        typer.Option(min=1, help="Hidden size of the model, which EAP-IG needs in a .json file."),
    ] = None,
    parallel_attn_mlp: Annotated[
        bool,
        typer.Option(
            "--parallel-attn-mlp",
            help="With --d-model: a layer's attention and MLP read the same input (Pythia, GPT-J).",
        ),
    ] = False,
) -> None:
    """Write the head scores of a map for other programs.

    .json is a circuit file of EAP-IG and the MIB benchmark with a score per head (a5.h3), larger
    for more important heads; .csv has a row per head with interval and p-value; .safetensors has
    all numbers of the map.

    \b
    Examples:
      headatlas scores atlas --task math --method gating --out math.csv
      headatlas scores atlas --map ioi.ablation --d-model 576 --out ioi.json
    """
    with given.stored_atlas(folder) as atlas:
        if map_name is not None:
            maps = [atlas.load(map_name)]
        else:
            maps = list(atlas.maps(task=task, method=method).values())
    if len(maps) != 1:
        names = ", ".join(head_map.name for head_map in maps)
        raise ha.HeadAtlasError(f"{folder} holds {len(maps)} maps: choose one with --map: {names}.")
    cfg: dict[str, Any] = {}
    if d_model is not None:
        cfg = {"d_model": d_model, "parallel_attn_mlp": parallel_attn_mlp}
    elif parallel_attn_mlp:
        raise ha.HeadAtlasError("--parallel-attn-mlp says something only together with --d-model.")
    path = maps[0].save_scores(out, function=function, cfg=cfg)
    if path.suffix == ".json" and not cfg:
        note("EAP-IG cannot load this file without the model's hidden size: add --d-model.")
    name_files([path])
