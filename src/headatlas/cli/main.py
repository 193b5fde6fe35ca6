"""The program `headatlas`: registers the commands and turns errors into sentences."""

from __future__ import annotations

import io
import logging
import sys
from typing import Annotated

import typer

from headatlas import HeadAtlasError, __version__
from headatlas.cli import (
    ablate,
    atlas,
    attention,
    attribute,
    check,
    compare,
    contrast,
    doctor,
    export,
    gate,
    knockout,
    listing,
    patch,
    plot,
    probe,
    scores,
    task_baseline,
    task_check,
    task_show,
    top,
    writes,
)
from headatlas.cli.options import grouped
from headatlas.cli.screen import NoteHandler, stderr

app = typer.Typer(
    name="headatlas",
    help="Maps of a language model's attention heads: which does it use for which task?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its tables cut long names of options at 80 columns
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("atlas")(grouped(atlas.atlas))
app.command("ablate")(grouped(ablate.ablate))
app.command("patch")(grouped(patch.patch))
app.command("attribute")(grouped(attribute.attribute))
app.command("attention")(grouped(attention.attention))
app.command("writes")(grouped(writes.writes))
app.command("knockout")(grouped(knockout.knockout))
app.command("gate")(grouped(gate.gate))
app.command("probe")(grouped(probe.probe))
app.command("contrast")(grouped(contrast.contrast))
app.command("top")(grouped(top.top))
app.command("check")(grouped(check.check))
app.command("compare")(grouped(compare.compare))
app.command("plot")(grouped(plot.plot))
app.command("scores")(grouped(scores.scores))
app.command("export")(grouped(export.export))
app.command("doctor")(grouped(doctor.doctor))
app.command("list")(grouped(listing.list_things))

task = typer.Typer(
    help="Inspect a task: its prompts, its file, its baseline.",
    rich_markup_mode=None,
)
task.command("show")(grouped(task_show.show))
task.command("check")(grouped(task_check.check))
task.command("baseline")(grouped(task_baseline.baseline))
app.add_typer(task, name="task", no_args_is_help=True)

RESUMABLE = (
    "atlas",
    "ablate",
    "patch",
    "attribute",
    "attention",
    "writes",
    "knockout",
    "gate",
    "contrast",
    "probe",
    "check",
)
"""Commands that keep every finished unit of work."""

INTERRUPTED = 130
"""The exit code that typer gives to Ctrl-C."""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"headatlas {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Options of the program itself."""


def main() -> None:
    """Run the program: exit code 2 and one sentence for a mistake in what was given."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # the terminal's encoding may lack some characters
            stream.reconfigure(errors="backslashreplace")
    logging.basicConfig(level=logging.WARNING, handlers=[NoteHandler()])
    try:
        app()
    except HeadAtlasError as error:
        stderr.print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
    except SystemExit as stop:
        if stop.code != INTERRUPTED:
            raise
        words = "stopped"
        if sys.argv[1:2] and sys.argv[1] in RESUMABLE:
            words += "; what is finished is kept, and the same command continues from there"
        stderr.print(f"{words}.", highlight=False)
        sys.exit(1)
