"""Tasks by name: built-in ones, files, folders, data sets of the hub; each in any form."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from headatlas.errors import TaskError
from headatlas.tasks.files.columns import ReadOptions
from headatlas.tasks.files.formats import CONTAINERS, sources_of
from headatlas.tasks.files.read import read_task
from headatlas.tasks.files.rows import Source
from headatlas.tasks.forms import split_name, unknown_suffix
from headatlas.tasks.suites.arithmetic import math
from headatlas.tasks.suites.classics import greater_than, ioi
from headatlas.tasks.suites.cognition import cognition
from headatlas.tasks.suites.commonsense import commonsense
from headatlas.tasks.suites.syntax import syntax
from headatlas.tasks.suites.tokens import TOKEN_TASKS
from headatlas.tasks.suites.word_pairs import WORD_PAIRS
from headatlas.tasks.task import Task

BUILT_IN: dict[str, Callable[[], Task]] = {
    "math": math,
    "syntax": syntax,
    "commonsense": commonsense,
    **WORD_PAIRS,
    **TOKEN_TASKS,
    "ioi": ioi,
    "greater-than": greater_than,
    "cognition": cognition,
}
"""A new task is one function and one line here."""

HUB = "hub:"
ONLY = "only="


def load_task(
    name: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    template: str | None = None,
    instruction: str | None = None,
    file_format: str | None = None,
    download: bool = False,
) -> Task:
    """A built-in task, a file, a folder of files, or `hub:NAME`. `:FORM` after the name chooses a
    form, and `:only=FUNCTION` the examples that need one cognitive function.

    For files: `columns` maps our column names to the file's, `template` formats a row
    ("Q: {prompt}\\nA: {target}"), `instruction` is for the form `instruction`, and `file_format`
    names the format if it cannot be recognized. `download` lets `hub:` use the network.

    >>> load_task("antonym:instruction").prompts(limit=1)[0].prompt.splitlines()[0]
    'Give the opposite of the word.'
    """
    base, suffixes = split_name(name_of(name))
    options = ReadOptions(columns or {}, template, instruction)
    if base in BUILT_IN:
        if file_format or options != ReadOptions():
            raise TaskError(
                f"'{base}' is built in: format, columns, template and instruction are for files."
            )
        return _with_suffixes(_built_in(base), suffixes)
    sources = open_sources(base, download)
    stem = Path(base.removeprefix(HUB).partition("#")[0]).stem or "task"
    return _with_suffixes(read_task(stem, sources, file_format, options), suffixes)


def list_tasks() -> dict[str, str]:
    """The built-in tasks: their names, and descriptions with the number of examples.

    >>> list_tasks()["ioi"]
    'indirect object identification: which of two people receives something (400 examples)'
    """
    return {name: _built_in(name).summary for name in BUILT_IN}


def name_of(name: str | Path) -> str:
    """The name of a task as text."""
    if not isinstance(name, str | os.PathLike):
        raise TaskError(f"the name of a task is {name!r}: give a string or a path.")
    return os.fspath(name)


def _with_suffixes(task: Task, suffixes: Sequence[str]) -> Task:
    """The task in the form, and with only the function, that the suffixes of its name choose."""
    for suffix in suffixes:
        if suffix.startswith(ONLY):
            task = task.only(suffix.removeprefix(ONLY))
    return task.with_form([suffix for suffix in suffixes if not suffix.startswith(ONLY)])


def open_sources(name: str, download: bool = False) -> list[Source]:
    """The rows of a file, of the files of a folder, or of the splits of a data set of the hub."""
    if not name.removeprefix(HUB).strip():
        raise TaskError("the name of the task is empty: give a task, a file or a folder.")
    try:
        if name.startswith(HUB):
            from headatlas.tasks.files.hub import hub_sources

            _refuse_unknown_form(name)
            return hub_sources(name.removeprefix(HUB), download)
        path = Path(name).expanduser()
        if path.suffix.lower() in CONTAINERS or path.exists():
            return sources_of(path)
        _refuse_unknown_form(name)
    except (OSError, RuntimeError, ValueError) as error:  # no such home, a name too long
        raise TaskError(f"'{name[:80]}' cannot be a file: {error}.") from error
    near = difflib.get_close_matches(name, BUILT_IN, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise TaskError(
        f"no task '{name}'.{hint} 'headatlas list tasks' shows all; a task file ends in .jsonl, "
        ".json, .csv, .tsv or .parquet."
    )


def _refuse_unknown_form(name: str) -> None:
    """Raise if a name is that of a task and then something that is not a form."""
    prefix = HUB if name.startswith(HUB) else ""
    parts = name.removeprefix(prefix).split(":")
    if prefix and Path(name.removeprefix(prefix).partition("#")[0]).expanduser().is_dir():
        return
    for number in range(len(parts) - 1, 0, -1):
        base = ":".join(parts[:number])
        if _is_hub_name(base) if prefix else _is_task(base):
            raise TaskError(
                f"no form '{unknown_suffix(parts[number:])}' for '{prefix}{base}': use icl, icl=N, "
                "instruction, plain, chat or only=FUNCTION."
            )


def _is_task(name: str) -> bool:
    path = Path(name).expanduser()
    if len(name) == 1:  # the drive of a Windows path
        return False
    return (
        name in BUILT_IN or path.is_dir() or (path.suffix.lower() in CONTAINERS and path.exists())
    )


def _is_hub_name(name: str) -> bool:
    """Whether this is OWNER/NAME or a folder, and not the drive of a Windows path."""
    return re.fullmatch(r"[\w.-]+/[\w.-]+(#.+)?", name) is not None or Path(name).is_dir()


@cache
def _built_in(name: str) -> Task:
    return BUILT_IN[name]()
