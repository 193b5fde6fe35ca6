"""headatlas list"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from headatlas.cli.screen import stdout


class Kind(StrEnum):
    """What can be listed."""

    models = "models"
    tasks = "tasks"
    methods = "methods"
    figures = "figures"


def list_things(kind: Annotated[Kind, typer.Argument(help="What to list.")]) -> None:
    """List what there is: models at hand, built-in tasks, methods, figures.

    \b
    Example:
      headatlas list tasks
    """
    rows = {
        Kind.models: _models,
        Kind.tasks: _tasks,
        Kind.methods: _methods,
        Kind.figures: _figures,
    }[kind]()
    table = Table(show_header=False, box=None)
    for name, about in rows:
        table.add_row(escape(name), escape(about))
    stdout.print(table)


def _models() -> list[tuple[str, str]]:
    from headatlas.models.load.cache import cache_folder
    from headatlas.models.load.embedded import EMBEDDED

    rows = [(EMBEDDED, "the embedded default")]
    for folder in sorted((cache_folder() / "models").glob("*/config.json")):
        if not folder.parent.name.startswith((".", EMBEDDED)):
            rows.append((str(folder.parent), "in the cache"))
    return [*rows, ("FOLDER, FILE.gguf, OWNER/NAME", "your own")]


def _tasks() -> list[tuple[str, str]]:
    from headatlas.tasks import BUILT_IN, load_task

    rows = []
    for name in BUILT_IN:
        task = load_task(name)
        count = sum(len(examples) for examples in task.splits.values())
        rows.append((name, f"{task.description} ({count} examples)"))
    return [
        *rows,
        ("FILE, FOLDER", "your own: .jsonl, .json, .csv, .tsv, .parquet with prompt and target"),
        ("hub:NAME", "a data set of the Hugging Face hub, or a folder that holds one"),
        ("TASK:FORM", "another form: icl, icl=N, instruction, plain; chat behind it"),
        ("TASK:only=FUNCTION", "the examples that need one cognitive function"),
    ]


def _methods() -> list[tuple[str, str]]:
    from headatlas.methods import METHODS, Contrast

    methods: dict[str, object] = {**METHODS, Contrast.name: Contrast}
    return [(name, _first_line(method)) for name, method in methods.items()]


def _figures() -> list[tuple[str, str]]:
    from headatlas.plots import FIGURES

    return [(name, _first_line(figure.function)) for name, figure in FIGURES.items()]


def _first_line(thing: object) -> str:
    return (thing.__doc__ or "").strip().splitlines()[0]
