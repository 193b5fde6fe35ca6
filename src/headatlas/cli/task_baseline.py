"""headatlas task baseline"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import isfinite
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.screen import Display, note, stdout


def baseline(
    *,
    task: Annotated[
        list[str] | None, typer.Option("--task", "-t", help="Tasks (default: all built-in ones).")
    ] = None,
    examples: Annotated[
        int | None, typer.Option(min=2, help="Number of test examples per task (default: all).")
    ] = None,
    as_json: given.Json = False,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Print what the untouched model can do: accuracy, target log-probability, chance level.

    Of n test examples: the share that is right (95 % interval) and the share that guessing gets;
    the mean log-probability of targets and of shuffled targets, and the difference (95 %). The
    model "can do" a task if the lower bound is well above chance (0.1, or 0.25 nats per token). It
    is right "too rarely" if that is little, "AT CHANCE" if shown to be no better, else "unclear".

    \b
    Examples:
      headatlas task baseline --task antonym --task ioi
      headatlas task baseline --model my-model.gguf --examples 40
    """
    tasks = [files.load(name, model.download) for name in task or ha.list_tasks()]
    total = sum(min(len(loaded_task.split("test")), examples or 10**9) for loaded_task in tasks)
    loaded = model.load()
    baselines = []
    done = 0
    with Display() as display:
        for loaded_task in tasks:

            def progress(count: int, name: str = loaded_task.name) -> None:
                nonlocal done
                done += count
                display(ha.Progress("test examples", done, total, name))

            baselines.append(
                ha.measure_baseline(loaded, loaded_task, limit=examples, progress=progress)
            )
        display(ha.Progress("test examples", done, done, finished=True))
    if as_json:
        rows = [_known(result.as_dict() | _derived(result)) for result in baselines]
        typer.echo(json.dumps(rows, indent=1, ensure_ascii=False, allow_nan=False))
        return
    _print(loaded.spec.name, baselines)
    for result in baselines:
        if result.too_long:
            note(f"{result.too_long} questions of {result.task} are too long and left out")


def _derived(result: ha.Baseline) -> dict[str, object]:
    return {
        "gain": result.gain,
        "above_chance": result.above_chance,
        "can_do": result.can_do,
        "verdict": result.verdict,
    }


def _known(row: dict[str, object]) -> dict[str, object]:
    """The row with `None` for numbers that are not known: JSON has no NaN."""
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in row.items()
    }


def _right(row: ha.Baseline) -> str:
    """The accuracy with its interval."""
    if not isfinite(row.accuracy_low):
        return f"{row.accuracy:.0%} (–)"
    return f"{row.accuracy:.0%} ({row.accuracy_low * 100:.0f}–{row.accuracy_high * 100:.0f})"


def _short(result: ha.Baseline) -> str:
    if result.can_do:
        return "[green]can do[/]"
    if result.at_chance:
        return "[red]AT CHANCE[/]"
    return "[yellow]too rarely[/]" if result.too_rarely_right else "[yellow]unclear[/]"


def _print(model: str, baselines: Sequence[ha.Baseline]) -> None:
    shown = Table(title=f"{escape(model)}, untouched", title_justify="left", box=None)
    shown.add_column("task", overflow="fold")
    for heading in ("n", "right", "chance", "log P", "shuffled", "gain"):
        shown.add_column(heading, justify="right", no_wrap=True)
    shown.add_column("", no_wrap=True)
    for row in baselines:
        shown.add_row(
            escape(row.task),
            str(row.examples),
            _right(row),
            f"{row.chance:.1%}",
            f"{row.logprob:.2f}",
            f"{row.shuffled_logprob:.2f}" if isfinite(row.shuffled_logprob) else "–",
            f"{row.gain_low:+.1f}…{row.gain_high:+.1f}" if isfinite(row.gain_low) else "–",
            _short(row),
        )
    stdout.print(shown)
