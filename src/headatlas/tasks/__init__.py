"""Tasks: prompts with targets.

>>> load_task("singular-plural").name
'singular-plural'
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from headatlas.errors import TaskError
from headatlas.tasks.jsonl import read_jsonl
from headatlas.tasks.singular_plural import singular_plural
from headatlas.tasks.task import Example, Task

__all__ = ["BUILT_IN", "Example", "Task", "load_task"]

BUILT_IN: dict[str, Callable[[], Task]] = {
    "singular-plural": singular_plural,
}


def load_task(name: str) -> Task:
    """A built-in task by name, or a task from a user's JSONL file."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    path = Path(name).expanduser()
    if path.suffix.lower() in (".jsonl", ".ndjson") or path.is_file():
        return read_jsonl(path)
    near = difflib.get_close_matches(name, BUILT_IN, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    raise TaskError(
        f"no task '{name}'.{hint} 'headatlas list tasks' shows all; a file of your own ends in "
        ".jsonl."
    )
