"""headatlas list"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
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
        table.add_row(name, about)
    stdout.print(table)


def _models() -> list[tuple[str, str]]:
    from headatlas.models.cache import cache_folder
    from headatlas.models.embedded import EMBEDDED

    rows = [(EMBEDDED, "the embedded default")]
    for folder in sorted((cache_folder() / "models").glob("*/config.json")):
        if not folder.parent.name.startswith((".", EMBEDDED)):
            rows.append((str(folder.parent), "in the cache"))
    return [*rows, ("FOLDER, FILE.gguf, OWNER/NAME", "your own")]


def _tasks() -> list[tuple[str, str]]:
    from headatlas.tasks import BUILT_IN

    rows = [(name, make().description) for name, make in BUILT_IN.items()]
    return [*rows, ("FILE.jsonl", "your own: one object a line with prompt and target")]


def _methods() -> list[tuple[str, str]]:
    from headatlas.methods import METHODS

    return [(name, _first_line(method)) for name, method in METHODS.items()]


def _figures() -> list[tuple[str, str]]:
    from headatlas.plots import FIGURES

    return [(name, _first_line(figure)) for name, figure in FIGURES.items()]


def _first_line(thing: object) -> str:
    return (thing.__doc__ or "").strip().splitlines()[0]
