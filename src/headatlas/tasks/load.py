"""Tasks by name: built-in ones, files, folders, data sets of the hub; each in any form."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from headatlas.errors import TaskError
from headatlas.tasks.files.columns import How
from headatlas.tasks.files.formats import CONTAINERS, sources_of
from headatlas.tasks.files.read import read_task
from headatlas.tasks.files.rows import Source
from headatlas.tasks.forms import split_name
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
    """A built-in task, a file, a folder of files, or `hub:NAME`; `:FORM` behind it chooses a form,
    `:only=FUNCTION` the examples that need one cognitive function.

    For files: `columns` maps our names of columns to the file's, `template` writes a row out
    ("Q: {prompt}\\nA: {target}"), `instruction` is for the form `instruction`, and `file_format`
    says what the records are where they do not show it. `download` lets `hub:` use the network.

    >>> load_task("antonym:instruction").prompts(limit=1)[0].prompt.splitlines()[0]
    'Give the opposite of the word.'
    """
    base, words = split_name(str(name))
    how = How(columns or {}, template, instruction)
    if base in BUILT_IN:
        if file_format or how != How():
            raise TaskError(
                f"'{base}' is built in: format, columns, template and instruction are for files."
            )
        return _as_asked(_built_in(base), words)
    sources = open_sources(base, download)
    stem = Path(base.removeprefix(HUB).partition("#")[0]).stem or "task"
    return _as_asked(read_task(stem, sources, file_format, how), words)


def _as_asked(task: Task, words: Sequence[str]) -> Task:
    """The task in the form, and with the function alone, that the words behind its name say."""
    for word in words:
        if word.startswith(ONLY):
            task = task.only(word.removeprefix(ONLY))
    return task.with_form([word for word in words if not word.startswith(ONLY)])


def open_sources(name: str, download: bool = False) -> list[Source]:
    """What a file, a folder or a data set of the hub holds, as rows to read."""
    if not name.removeprefix(HUB).strip():
        raise TaskError("the name of the task is empty.")
    try:
        if name.startswith(HUB):
            from headatlas.tasks.files.hub import hub_sources

            return hub_sources(name.removeprefix(HUB), download)
        path = Path(name).expanduser()
        if path.suffix.lower() in CONTAINERS or path.exists():
            return sources_of(path)
    except (OSError, RuntimeError, ValueError) as error:  # no such home, a name too long
        raise TaskError(f"'{name[:80]}' cannot be a file: {error}.") from error
    near = difflib.get_close_matches(name, BUILT_IN, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise TaskError(
        f"no task '{name}'.{hint} 'headatlas list tasks' shows all; a file of your own ends in "
        ".jsonl, .json, .csv, .tsv or .parquet."
    )


@cache
def _built_in(name: str) -> Task:
    return BUILT_IN[name]()
