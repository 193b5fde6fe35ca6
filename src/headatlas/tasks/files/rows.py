"""What the containers give: records with their place in the file, and problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from headatlas.errors import TaskError


@dataclass(frozen=True)
class Place:
    """Where something stands: a line, or a row where a file has no lines."""

    number: int
    unit: str = "line"

    def __str__(self) -> str:
        return f"{self.unit} {self.number}"


@dataclass(frozen=True)
class Problem:
    """Something that cannot be used: where, in which column, and why.

    `skipped` problems leave one example out and are told; others refuse the file.
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
    """One record, its place, and the facts that the whole file states once."""

    place: Place
    record: Mapping[str, Any]
    header: Mapping[str, Any]


Rows = Iterator[Row | Problem]


@dataclass(frozen=True)
class Source:
    """Rows that can be read, what to call them in messages, and the split that they are.

    `count` says about how many there are, for the time left; `None` if that is not known.
    """

    name: str
    rows: Callable[[], Rows]
    split: str | None = None
    count: Callable[[], int | None] = lambda: None


class UnreadableError(TaskError):
    """A file that cannot be read at all."""


def shown(value: Any) -> str:
    """A value as a message shows it."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"
