"""headatlas probe"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.compare import show_comparison
from headatlas.cli.screen import note, say, stdout, table
from headatlas.cli.top import finish


class TokenChoice(StrEnum):
    """Which tokens of an answer are read."""

    first = "first"
    last = "last"
    content = "content"
    all = "all"


class AnswerChoice(StrEnum):
    """Whose answers are read."""

    reference = "reference"
    generated = "generated"


def probe(
    *,
    out: given.Out,
    suite: Annotated[
        str, typer.Option("--suite", "-s", help="Task whose examples have functions, or a file.")
    ] = "cognition",
    seeds: given.Seeds = 3,
    examples: Annotated[
        int | None, typer.Option(min=1, help="Number of examples to read (default: all).")
    ] = None,
    tokens: Annotated[
        TokenChoice,
        typer.Option(help="Answer tokens to read; content: the five rarest word tokens."),
    ] = TokenChoice.content,
    answers: Annotated[
        AnswerChoice,
        typer.Option(help="reference, or generated: the model's own where they are right."),
    ] = AnswerChoice.reference,
    epochs: Annotated[int, typer.Option(min=1, help="Training epochs.")] = 100,
    causes: Annotated[
        bool,
        typer.Option(
            "--causes",
            help="Also ablation of every function's examples, and how far the two maps agree.",
        ),
    ] = False,
    baseline: given.Baseline = True,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Map cognitive functions: which heads matter for which of them?

    Reads every head's output at the answers, trains a probe on train questions, takes the
    importance of every head for every function from the select questions, and scores the probe on
    test questions. Writes the map, its figures, and what the probe's accuracy is worth.

    \b
    Examples:
      headatlas probe --out atlas
      headatlas probe --examples 400 --seeds 1 --epochs 20 --out first-look
      headatlas probe --causes --out atlas
      headatlas probe --suite my-steps.jsonl --model Qwen/Qwen3-0.6B --seeds 5 --out atlas
    """
    task = files.load(suite, model.download)
    with model.atlas(out) as atlas:
        method = ha.Probing(
            tokens=tokens.value, answers=answers.value, epochs=epochs, examples=examples
        )
        head_map = atlas.map(method, task, seeds, baseline=baseline)
        report = atlas.check(head_map, task, kind="probe")
        atlas.save_figures(head_map, report)
        if causes:
            comparison = atlas.causes(head_map, task)
            atlas.save_figures(comparison)
    show_report(report)
    if causes:
        show_comparison(comparison)
    finish(atlas, [head_map])


def show_report(report: ha.Result) -> None:
    """Print the accuracy of the probe and of what needs no heads."""
    assert isinstance(report, ha.ProbeReport)
    warnings = report.warnings()
    for line in report.summary():
        if line not in warnings:
            say(line)
    columns = ("compared with", "accuracy", "probe's gain", report.about.percent, "")
    shown = table(*columns, left=("compared with", ""))
    for words, control in report.rows():
        shown.add_row(
            words,
            f"{control.accuracy:.0%}",
            f"{100 * control.gain:+.0f} points",
            f"{100 * control.low:+.0f} … {100 * control.high:+.0f}",
            control.verdict,
        )
    stdout.print(shown)
    for warning in warnings:
        note(warning)
