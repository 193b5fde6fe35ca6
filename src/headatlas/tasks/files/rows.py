"""What readers of containers yield: records with their place in the file, and problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headatlas.errors import TaskError


@dataclass(frozen=True)
class Place:
    """The place of a record: a line, or a row in files without lines."""

    number: int
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.unit} {self.number}"


@dataclass(frozen=True)
class Problem:
    """Something that cannot be used: where, in which column, and why.

    A `skipped` problem leaves out one example and is reported; any other makes the file unusable.
    """

    place: Place
    column: int | str | None
    what: str
    skipped: bool = False

    def __str__(self) -> str:
        if self.column is None:
            return f"{self.place}: {self.what}"
        column = f"'{self.column}'" if isinstance(self.column, str) else self.column
        return f"{self.place}, column {column}: {self.what}"


@dataclass(frozen=True)
class Row:
    """One record, its place, and the header of the file."""

    place: Place
    record: Mapping[str, Any]
    header: Mapping[str, Any]


Rows = Iterator[Row | Problem]


@dataclass(frozen=True)
class Source:
    """Rows that can be read, their name in messages, and the split they belong to.

    `count` estimates the number of rows, to predict the time left; `None` if it is unknown.
    """

    name: str
    rows: Callable[[], Rows]
    split: str | None = None
    count: Callable[[], int | None] = lambda: None


class UnreadableError(TaskError):
    """A file that cannot be read at all."""


def shown(value: Any) -> str:
    """A value as messages show it: its repr, shortened."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"
