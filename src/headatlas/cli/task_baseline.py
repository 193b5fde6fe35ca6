"""headatlas task baseline"""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from headatlas.cli import options as given
from headatlas.cli.screen import note, progress_bar, stdout

if TYPE_CHECKING:
    from headatlas.methods.baseline import Baseline


def baseline(
    *,
    task: Annotated[
        list[str] | None, typer.Option("--task", "-t", help="Tasks (default: all built-in ones).")
    ] = None,
    examples: Annotated[
        int | None, typer.Option(min=2, help="So many test questions a task (default: all).")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Print what the untouched model can do: accuracy, target log-probability, chance level.

    Of n test examples: the share that is right (95 % interval) and the share that guessing gets;
    the mean log-probability of targets and of shuffled targets, and the difference (95 %). A task
    is marked where the model is not above chance with 95 % confidence.

    \b
    Examples:
      headatlas task baseline --task antonym --task ioi
      headatlas task baseline --model my-model.gguf --examples 40
    """
    from headatlas.tasks import BUILT_IN

    chosen = [files.load(name, model.download) for name in task or BUILT_IN]
    for each in chosen:
        each.split("test")
    loaded = model.load()
    from headatlas.methods.baseline import measure_baseline

    total = sum(min(len(each.split("test")), examples or 10**9) for each in chosen)
    found = []
    with progress_bar("asking", total) as advance:
        for each in chosen:
            found.append(measure_baseline(loaded, each, limit=examples, progress=advance))
    if as_json:
        typer.echo(json.dumps([_as_data(each) for each in found], indent=1, ensure_ascii=False))
    else:
        _print(loaded.spec.name, found)
        for result in found:
            if result.too_long:
                note(f"{result.too_long} questions of {result.task} are too long and left out")


def _as_data(found: Baseline) -> dict[str, object]:
    return asdict(found) | {"gain": found.gain, "above_chance": found.above_chance}


def _print(model: str, found: list[Baseline]) -> None:
    table = Table(title=f"{escape(model)}, untouched", title_justify="left", box=None)
    table.add_column("task", overflow="fold")
    for heading in ("n", "right", "chance", "log P", "shuffled", "gain"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for each in found:
        table.add_row(
            escape(each.task),
            str(each.examples),
            f"{each.accuracy:.0%} ({each.accuracy_low * 100:.0f}–{each.accuracy_high * 100:.0f})",
            f"{each.chance:.1%}",
            f"{each.logprob:.2f}",
            f"{each.shuffled_logprob:.2f}" if isfinite(each.shuffled_logprob) else "–",
            f"{each.gain_low:+.1f}…{each.gain_high:+.1f}" if isfinite(each.gain_low) else "–",
            "[green]above[/]" if each.above_chance else "[red]AT CHANCE[/]",
        )
    stdout.print(table)
