"""headatlas export"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.check_tables import show_held_out
from headatlas.cli.screen import name_files, say


class Which(StrEnum):
    """Which of the learned gates."""

    plus = "plus"
    minus = "minus"
    free = "free"


class Form(StrEnum):
    """What the gates are written as."""

    checkpoint = "checkpoint"
    adapter = "adapter"


def export(
    folder: given.Folder,
    *,
    task: Annotated[str, typer.Option("--task", "-t", help="The task whose gates are taken.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="New folder for the model.")],
    form: Annotated[
        Form,
        typer.Option(
            "--as",
            help="checkpoint: the whole model, with the gates in its weights; adapter: the gates "
            "alone, for peft.",
        ),
    ] = Form.checkpoint,
    gates: Annotated[
        Which,
        typer.Option(
            help="plus: close only heads that interfere; minus: keep only heads that are needed; "
            "free: neither is favoured."
        ),
    ] = Which.plus,
    hard: Annotated[
        bool, typer.Option("--hard", help="Gates as 0 or 1, cut where it works best.")
    ] = False,
    seed: Annotated[
        int | None,
        typer.Option(help="Gates of this seed (default: the best one on the 'select' questions)."),
    ] = None,
    map_name: given.MapName = None,
    model: given.StoredModelOptions,
    files: given.FileOptions,
) -> None:
    """Write learned gates as a checkpoint, or as an adapter for peft.

    Any loader runs the checkpoint; the adapter is a small file, put on top of the untouched model
    by peft (IA³). The model card says what was done, and what the gates do to the task on test
    questions that were used neither by the fits nor to choose the seed.

    \b
    Examples:
      headatlas export atlas --task math --gates plus --out math-model
      headatlas export atlas --task math --gates minus --hard --out small-math-model
      headatlas export atlas --task math --as adapter --out math-adapter
    """
    subject = files.load(task, model.download)
    with model.atlas(folder) as atlas:
        if map_name is not None:
            maps = [atlas.load(map_name)]
        else:
            maps = list(atlas.maps(task=subject.name, method="gating").values())
        if len(maps) > 1:
            raise ha.HeadAtlasError(
                f"{folder} holds {len(maps)} gating maps of '{subject.name}': choose one with "
                f"--map from {', '.join(head_map.name for head_map in maps)}."
            )
        exported = atlas.export(
            maps[0],
            out,
            form=form.value,
            gates=gates.value,
            hard=hard,
            seed=seed,
            task=subject,
        )
    show_held_out(str(maps[0].provenance["task"]), exported.held_out)
    for row in exported.held_out:
        if row.thresholds:
            say(row.hard_sentence())
    for caution in exported.cautions:
        say(f"CAUTION: {caution}")
    name_files([exported.folder, *exported.files])
