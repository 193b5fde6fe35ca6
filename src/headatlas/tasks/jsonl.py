"""A user's own task: one JSON object a line, with `prompt` and `target`."""

from __future__ import annotations

import json
from pathlib import Path

from headatlas.errors import TaskError
from headatlas.tasks.task import Example, Task


def read_jsonl(path: Path) -> Task:
    """Read a task; a line that cannot be used is named, and nothing is guessed."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise TaskError(f"the task file {path} cannot be read: {error.strerror}.") from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise TaskError(f"line {line} of {path} is not UTF-8 text.") from error
    lines = enumerate(text.split("\n"), start=1)
    examples = tuple(_read_line(path, number, line) for number, line in lines if line.strip())
    if not examples:
        raise TaskError(f"the task file {path} is empty: give one JSON object a line.")
    return Task(
        name=path.stem, version=1, description=f"{len(examples)} examples of a file", test=examples
    )


def _read_line(path: Path, number: int, line: str) -> Example:
    where = f"line {number} of {path}"
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        column = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        raise TaskError(f"{where} is not JSON{column}: {str(error)[:80]}.") from error
    if not isinstance(record, dict):
        raise TaskError(f"{where} is not a JSON object with 'prompt' and 'target'.")
    for field in ("prompt", "target"):
        value = record.get(field)
        if not isinstance(value, str) or not value:
            found = "is missing" if value is None else f"is {json.dumps(value)[:40]}"
            raise TaskError(f"{where}: '{field}' {found}, but should be text.")
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise TaskError(f"{where}: '{field}' holds half a character (a lone surrogate).")
    return Example(record["prompt"], record["target"])
