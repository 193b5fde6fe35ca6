"""headatlas task check"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headatlas.cli import options as given
from headatlas.cli.screen import progress_bar, stdout, waiting
from headatlas.errors import HeadAtlasError

if TYPE_CHECKING:
    from collections.abc import Callable

    from headatlas.tasks import Example
    from headatlas.tasks.files.read import FileReport


def check(
    *,
    file: Annotated[str, typer.Argument(metavar="FILE", help="File, folder or hub:NAME.")],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Also count what does not fit this model's context."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
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
    from headatlas.tasks import BUILT_IN, open_sources
    from headatlas.tasks.files.formats import format_of
    from headatlas.tasks.files.read import check_source
    from headatlas.tasks.forms import split_name

    how = files.how()
    name, _ = split_name(file)
    if name in BUILT_IN:
        raise HeadAtlasError(f"'{name}' is built in: 'headatlas task show {name}' shows it.")
    sources = open_sources(name, download)
    file_format = format_of(sources[0], files.file_format, how).name
    fits = _fitting(model, download) if model else None
    reports = {}
    for source in sources:
        with progress_bar(f"reading {source.name}", source.count()) as advance:
            reports[source.name] = check_source(source, file_format, how, advance, fits)
    if as_json:
        data = {source: _as_data(report) for source, report in reports.items()}
        typer.echo(json.dumps(data, indent=1, ensure_ascii=False))
    else:
        for source_name, report in reports.items():
            _print(source_name, report)
    if any(report.problems or not report.examples for report in reports.values()):
        raise typer.Exit(2)


def _fitting(model: str, download: bool) -> Callable[[Example], bool]:
    """Whether an example fits the context of a model."""
    with waiting(f"loading the tokenizer of {model}"):
        from headatlas.models.load.loader import load_tokenizer
        from headatlas.models.tokens import encode

        tokenizer, context = load_tokenizer(model, download=download)
    if tokenizer is None or context is None:
        raise HeadAtlasError(f"{model} says nothing about its tokens or its context: leave it out.")

    def fits(example: Example) -> bool:
        return len(encode(tokenizer, example.prompt, example.target)) <= context

    return fits


def _as_data(report: FileReport) -> dict[str, Any]:
    return asdict(report) | {"shown": [str(problem) for problem in report.shown]}


def _print(name: str, report: FileReport) -> None:
    def say(text: str, style: str = "") -> None:
        stdout.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

    say(f"{name}: {report.format}")
    for problem in report.shown:
        mark, style = ("left out", "yellow") if problem.skipped else ("wrong", "red")
        say(f"  {mark:8} {problem}", style)
    more = report.problems + sum(report.left_out.values()) - len(report.shown)
    if more > 0:
        say(f"  … and {more:,} more")
    say(f"  examples: {report.examples:,}, of {report.questions:,} different questions")
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
    if report.with_choices:
        say(f"  {report.with_choices:,} with choices")
    if report.with_corrupted:
        say(f"  {report.with_corrupted:,} with a corrupted prompt")
    for count, what in (
        (report.repeated, "repeat a prompt that stood before"),
        (report.crossing, "stand in another split than their question; a run leaves them out"),
        (report.too_long, "do not fit the model's context, even alone; a run leaves them out"),
        (report.without_space, "have no space between prompt and target (they are joined as is)"),
    ):
        if count:
            say(f"  note: {count:,} {what}")
    if report.problems:
        say(f"  {report.problems:,} wrong: a run would refuse this file", "red")
    elif report.examples:
        say("  sound", "green")
    else:
        say("  no example found", "red")
