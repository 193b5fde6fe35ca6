"""headatlas export"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from headatlas.cli import options as given
from headatlas.runs.reload import StoredModelOptions
from headatlas.cli.screen import progress_bar, waiting
from headatlas.errors import HeadAtlasError


class Which(StrEnum):
    """Which of the learned gates."""

    plus = "plus"
    minus = "minus"
    free = "free"


NAMES = {Which.plus: "G⁺", Which.minus: "G⁻", Which.free: "G"}


def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run of gating.")],
    *,
    task: Annotated[str, typer.Option("--task", "-t", help="The task whose gates are taken.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for the model.")],
    gates: Annotated[
        Which, typer.Option(help="plus: what helps the task; minus: the least it needs; free.")
    ] = Which.plus,
    hard: Annotated[bool, typer.Option("--hard", help="Gates as 0 or 1, cut at 0.5.")] = False,
    seed: Annotated[
        int | None,
        typer.Option(help="Gates of this seed (default: the best one on the 'select' questions)."),
    ] = None,
    map_name: Annotated[
        str | None, typer.Option("--map", help="Which map, if the folder has several.")
    ] = None,
    model: StoredModelOptions,
    files: given.FileOptions,
) -> None:
    """Fold learned gates into the weights: an ordinary checkpoint that any loader runs.

    Its model card says what was done, and what the gates do to the task on test questions that
    neither the fits nor the choice of the seed have seen.

    \b
    Examples:
      headatlas export atlas --task math --gates plus --out math-model
      headatlas export atlas --task math --gates minus --hard --out small-math-model
    """
    with waiting("starting"):
        from headatlas.checks.held_out import HARD, best_seed, gate_matrix, held_out
        from headatlas.runs.reload import gating_maps, load_verified_for, of_tasks, task_of
        from headatlas.cli.check_gating import show_held_out
        from headatlas.cli.model_card import write_card
        from headatlas.cli.work import name_files
        from headatlas.maps import Map
        from headatlas.models.load.export import check_new_folder, export_model
        from headatlas.runs.store import Store

    check_new_folder(out)
    Store(out).check()
    named = files.load(task, model.download)
    maps = of_tasks(gating_maps(folder, map_name), [named], folder)
    if len(maps) > 1:
        raise HeadAtlasError(
            f"{folder} holds {len(maps)} gating maps of '{named.name}': choose one with --map from "
            f"{', '.join(maps)}."
        )
    ((file, drawn),) = maps.items()
    if drawn.provenance["settings"]["baseline"] != "zero":
        raise HeadAtlasError(
            "these gates were learned with the mean baseline, which adds a constant that weights "
            "cannot hold: learn gates with '--baseline zero' to export them."
        )
    seeds = [int(each) for each in drawn.data["seed"].to_numpy()]
    if seed is not None and seed not in seeds:
        raise HeadAtlasError(f"no seed {seed} in {file}: it has {', '.join(map(str, seeds))}.")
    loaded = load_verified_for(drawn, model)
    asked = task_of(drawn, loaded, [named], files)
    if asked is None:
        raise HeadAtlasError(f"the map {file} cannot be tested on '{task}', so it is not exported.")
    name = NAMES[gates] + (HARD if hard else "")
    how = "as asked for"
    if seed is None:
        how = "the best one on the selection questions" if len(seeds) > 1 else "the only one"
        with progress_bar("choosing a seed", len(seeds)) as move:
            seed = best_seed(loaded, asked, drawn, name, report=move)
    chosen = Map(drawn.data.sel(seed=[seed]), drawn.provenance)
    with progress_bar("asking test questions", 1) as move:
        rows = held_out(loaded, asked, chosen, names=(name,), report=move)
    with waiting(f"writing {out}"):
        export_model(loaded, gate_matrix(drawn, name, seed), out)
        card = write_card(out, chosen, name, f"{seed} ({how})", rows)
    show_held_out(asked.name, rows)
    name_files([out, card])
