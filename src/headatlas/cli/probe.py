"""headatlas probe"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from headatlas.cli import options as given
from headatlas.cli.csv_text import as_csv
from headatlas.cli.screen import note, progress_bar, stdout, waiting

if TYPE_CHECKING:
    from headatlas.checks.probe import ProbeReport
    from headatlas.cli.work import Finished
    from headatlas.maps import Map
    from headatlas.methods import Probing
    from headatlas.methods.features import Features, Reading
    from headatlas.models.model import Model
    from headatlas.tasks import Task


FIGURES = ("functions", "function-layers", "function-overlap", "head-profiles")


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
    seeds: Annotated[int, typer.Option(min=1, help="Fit the probe anew so many times.")] = 3,
    tokens: Annotated[
        TokenChoice, typer.Option(help="Tokens of the answer: content are the five rarest words'.")
    ] = TokenChoice.content,
    answers: Annotated[
        AnswerChoice,
        typer.Option(help="reference, or generated: the model's own, where they are right."),
    ] = AnswerChoice.reference,
    epochs: Annotated[int, typer.Option(min=1, help="Times that the probe sees all.")] = 100,
    causes: Annotated[
        bool,
        typer.Option(
            "--causes",
            help="Also ablation and gating of every function's examples, and how far they agree.",
        ),
    ] = False,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Map cognitive functions: which heads tell a probe what kind of thinking a step needs?

    Reads every head's output at the answers, fits a probe on train questions, takes the importance
    of every head for every function from the select questions and scores on the test questions.
    Writes the map, its figures, and how much the probe's accuracy is worth.

    \b
    Examples:
      headatlas probe --out atlas
      headatlas probe --causes --out atlas
      headatlas probe --suite my-steps.jsonl --model Qwen/Qwen3-0.6B --seeds 5 --out atlas
    """
    with waiting("starting"):
        from headatlas.cli.causes import map_causes
        from headatlas.cli.work import load_verified, name_files, write_run
        from headatlas.methods import Probing
        from headatlas.runs.store import Store

    method = Probing(tokens=tokens.value, answers=answers.value, epochs=epochs)
    task = files.load(suite, model.download)
    Store(out).check()
    loaded, checks = load_verified(model)
    run, written = probe_suite(loaded, checks, task, method, seeds, out)
    runs = [run]
    if causes:
        more, others = map_causes(loaded, checks, task, run.path.stem, out)
        runs += more
        written += others
    name_files([*written, write_run(out, runs)])


def probe_suite(
    model: Model, checks: list[dict[str, Any]], task: Task, method: Probing, seeds: int, out: Path
) -> tuple[Finished, list[Path]]:
    """Read, fit, print what was found, and write map, report, table and figures."""
    from headatlas.checks.probe import report_probe
    from headatlas.cli.check_functions import mark_again
    from headatlas.cli.work import draw_maps, run_method
    from headatlas.maps.functions import function_table
    from headatlas.methods.features import Reading
    from headatlas.runs.store import Store

    features = read_suite(model, task, Reading(method.tokens, method.answers), out)
    run = run_method(model, checks, features, method, seeds, out)
    store, name = Store(out), run.path.stem
    drawn = mark_again(name, store)
    report = report_probe(drawn, features)
    show_probe(report)
    show_counts(drawn)
    written = [
        run.path,
        store.write_json(f"checks/{name}.probe.json", report.as_dict()),
        store.write_text(f"tables/{name}.heads.csv", as_csv(function_table(drawn), ".6g")),
    ]
    for figure in FIGURES:
        written += draw_maps(drawn, figure, out, name)
    return run, written


def read_suite(model: Model, task: Task, reading: Reading, out: Path) -> Features:
    """Head outputs at the answers; what was read before is taken from the folder."""
    from headatlas.maps import load_map
    from headatlas.methods.features import Features
    from headatlas.methods.probing import functions_of
    from headatlas.runs.engine import run_units
    from headatlas.runs.store import Store
    from headatlas.runs.unit import cut

    functions_of(task)  # too few functions are said before anything is read
    task = task.for_tokenizer(model.tokenizer)
    store = Store(out)
    store.open()
    units = cut(model, task, reading, [0])
    with progress_bar(f"reading {task.name}", len(units)) as progress:
        run_units(units, model, task, reading, store, progress)
    features = Features.of(task, [load_map(store.path(unit)) for unit in units])
    reasons = {
        "too long for the model's context": features.too_long,
        "the model's own, and wrong": features.wrong,
        "of steps without a function": features.unlabelled,
    }
    for reason, count in reasons.items():
        if count:
            note(f"answers left out: {count} {reason}")
    return features


def show_probe(report: ProbeReport) -> None:
    """Print the accuracy of the probe beside what needs no heads."""
    stdout.print(
        f"the probe tells {len(report.functions)} functions apart in {report.accuracy:.0%} of "
        f"{report.examples} test examples ({report.low:.0%} … {report.high:.0%}); chance is "
        f"{report.chance:.0%}",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    table = Table(box=None, pad_edge=False)
    for column in ("beside it", "accuracy", "the probe gains", "95 %"):
        table.add_column(column, justify="left" if column == "beside it" else "right")
    words = {
        "majority": "the commonest function of train",
        "words": "words of the prompt alone",
        "place": "number and length of the step",
        "shuffled": "the probe with shuffled labels",
    }
    for name, each in report.baselines.items():
        reach = f"{each.low:+.0%} … {each.high:+.0%}"
        table.add_row(words[name], f"{each.accuracy:.0%}", f"{each.gain:+.0%}", reach)
    stdout.print(table)
    for name in ("words", "place"):
        if report.baselines[name].holds is not True:
            note(
                f"{words[name]} tell the functions apart as well as the probe: this map may show "
                "the wording of the suite, not functions"
            )


def show_counts(drawn: Map) -> None:
    """Print how many heads count for every function, by both rules."""
    from headatlas.maps.functions import head_counts

    table = Table(box=None, pad_edge=False)
    for column in ("function", "by the elbow", "beyond chance", "both"):
        table.add_column(column, justify="left" if column == "function" else "right")
    for name, count in head_counts(drawn).items():
        table.add_row(name, str(count.elbow), str(count.significant), str(count.both))
    stdout.print(table)
