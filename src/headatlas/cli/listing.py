"""headatlas list"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

import headatlas as ha
from headatlas.cli.screen import stdout


class Kind(StrEnum):
    """What can be listed."""

    models = "models"
    tasks = "tasks"
    methods = "methods"
    figures = "figures"


OWN_MODELS = {"FOLDER, FILE.gguf, OWNER/NAME": "your own"}
OWN_TASKS = {
    "FILE, FOLDER": "your own: .jsonl, .json, .csv, .tsv, .parquet with prompt and target",
    "hub:NAME": "a data set of the Hugging Face hub, or a folder that holds one",
    "TASK:FORM": "another form: icl, icl=N, instruction, plain; chat after it",
    "TASK:only=FUNCTION": "the examples that need one cognitive function",
}


def list_things(kind: Annotated[Kind, typer.Argument(help="What to list.")]) -> None:
    """List available models, built-in tasks, methods or figures.

    \b
    Example:
      headatlas list tasks
    """
    rows = {
        Kind.models: lambda: ha.list_models() | OWN_MODELS,
        Kind.tasks: lambda: ha.list_tasks() | OWN_TASKS,
        Kind.methods: lambda: ha.list_methods(),
        Kind.figures: lambda: ha.list_figures(),
    }[kind]()
    shown = Table(show_header=False, box=None)
    for name, about in rows.items():
        shown.add_row(escape(name), escape(about))
    stdout.print(shown)
