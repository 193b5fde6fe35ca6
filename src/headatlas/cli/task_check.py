"""headatlas task check"""

from __future__ import annotations

import json
from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.screen import Display, say


def check(
    *,
    file: Annotated[str, typer.Argument(metavar="FILE", help="File, folder or hub:NAME.")],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Also count what does not fit this model's context."),
    ] = None,
    as_json: given.Json = False,
    download: given.Download = False,
    files: given.FileOptions,
) -> None:
    """Read a task file of any size and report what is there, line by line for what is wrong.

    The exit code is 2 if something is wrong.

    \b
    Examples:
      headatlas task check my.jsonl
      headatlas task check my.csv --columns prompt=question,target=answer
    """
    done: dict[str, int] = {}
    with Display() as display:

        def progress(name: str, rows: int, total: int | None) -> None:
            for earlier in [known for known in done if known != name]:
                count = done.pop(earlier)
                display(ha.Progress(f"reading {earlier}", count, count, finished=True))
            done[name] = done.get(name, 0) + rows
            display(ha.Progress(f"reading {name}", done[name], total))

        reports = ha.check_file(
            file, model=model, download=download, progress=progress, **files.how()
        )
        for name in done:
            display(ha.Progress(f"reading {name}", done[name], done[name], finished=True))
    if as_json:
        data = {name: report.as_dict() for name, report in reports.items()}
        typer.echo(json.dumps(data, indent=1, ensure_ascii=False))
    else:
        for name, report in reports.items():
            _print(name, report)
    if not all(report.sound for report in reports.values()):
        raise typer.Exit(2)


def _print(name: str, report: ha.FileReport) -> None:
    say(f"{name}: format '{report.format}'")
    for problem in report.shown:
        mark, style = ("left out", "yellow") if problem.skipped else ("wrong", "red")
        say(f"  {mark:8} {problem}", style)
    more = report.problems + sum(report.left_out.values()) - len(report.shown)
    if more > 0:
        say(f"  … and {more:,} more")
    say(f"  examples: {report.examples:,}, of {report.questions:,} different questions")
    if report.examples:
        say(f"  the longest has {report.longest:,} characters")
    facts = {
        "by split": report.splits,
        "by function": report.functions,
        "left out": report.left_out,
    }
    for fact, counts in facts.items():
        if counts:
            listed = ", ".join(f"{key} {count:,}" for key, count in counts.most_common(20))
            say(f"  {fact}: {listed}")
    for count, what in (
        (report.with_choices, "with choices"),
        (report.with_corrupted, "with a corrupted prompt"),
    ):
        if count:
            say(f"  {count:,} {what}")
    for count, what in (
        (report.repeated, f"repeated prompts ({', '.join(report.repeats)})"),
        (report.crossing, "in another split than their question, left out by a run"),
        (report.too_long, "too long for the model's context even alone, left out by a run"),
        (report.without_space, "without a space between prompt and target, joined as they are"),
    ):
        if count:
            say(f"  note: {what}: {count:,}")
    for warning in report.warnings:
        say(f"  note: {warning}", "yellow")
    if report.problems:
        number = f"{report.problems:,} problem{'' if report.problems == 1 else 's'}"
        say(f"  {number}: a run would refuse this file", "red")
    elif report.sound:
        say("  no problems found", "green")
    else:
        say("  no example can be used" if report.examples else "  no examples", "red")
