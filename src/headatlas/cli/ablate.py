"""headatlas ablate"""

from __future__ import annotations

from typing import Annotated

import typer

from headatlas.cli import options as given
from headatlas.cli.screen import waiting


def ablate(
    *,
    out: given.Out,
    task: given.TaskName = "singular-plural",
    heads: Annotated[
        str | None, typer.Option(help="Only these heads, as LAYER.HEAD: 3.5,4.0 (default: all).")
    ] = None,
    examples: Annotated[
        int, typer.Option(min=2, help="So many test questions of the task, drawn by the seed.")
    ] = 32,
    seeds: Annotated[
        int, typer.Option(min=1, help="Draw the solved examples anew so many times.")
    ] = 1,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Remove every head alone and measure how the task changes.

    The map's `effect` is the change of the mean target log-probability when a head is removed:
    negative where the task needs the head. Running the same command again goes on where it
    stopped.

    \b
    Examples:
      headatlas ablate --out atlas
      headatlas ablate --model Qwen/Qwen3-0.6B --task my.jsonl --out atlas
      headatlas ablate --task antonym:instruction --out atlas
      headatlas ablate --heads 0.3,12.7 --out atlas
    """
    with waiting("starting"):
        from headatlas.cli.work import load_verified, name_files, run_and_draw, write_run
        from headatlas.methods import Ablation
        from headatlas.runs.store import Store

    method = Ablation(heads=given.parse_heads(heads), examples=examples)
    chosen = files.load(task, model.download)
    Store(out).check()
    loaded, checks = load_verified(model)
    run, written = run_and_draw(loaded, checks, chosen, method, seeds, out)
    name_files([*written, write_run(out, [run])])
