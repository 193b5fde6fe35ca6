"""headatlas task baseline"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
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

    A task is marked where the model is not above chance with 95 % confidence.

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
    table = Table(title=f"{model}, untouched", title_justify="left")
    for heading in ("task", "questions", "accuracy", "95 %", "chance"):
        table.add_column(heading, justify="left" if heading == "task" else "right")
    for heading in ("log P(target)", "shuffled", "gain, 95 %"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for each in found:
        table.add_row(
            each.task,
            str(each.examples),
            f"{each.accuracy:.0%}",
            f"{each.accuracy_low:.0%}–{each.accuracy_high:.0%}",
            f"{each.chance:.1%}",
            f"{each.logprob:.2f}",
            f"{each.shuffled_logprob:.2f}",
            f"{each.gain_low:+.2f} … {each.gain_high:+.2f}",
            "[green]above chance[/]" if each.above_chance else "[red]AT CHANCE[/]",
        )
    stdout.print(table)
