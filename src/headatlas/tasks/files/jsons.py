"""JSON: one object per line, or one array (or an object with a list of examples) per file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headatlas.tasks.files.lines import opened, read_lines
from headatlas.tasks.files.rows import Place, Problem, Row, Rows, shown

LARGEST = 512 * 2**20
"""Bytes of the largest file that is read as one JSON value; JSON lines have no limit."""


def read_jsonl(path: Path) -> Rows:
    """One JSON object per line; empty lines are skipped."""
    for line in read_lines(path):
        if isinstance(line, Problem):
            yield line
            continue
        number, text = line
        if text and not text.isspace():
            yield _parse_line(number, text)


def _parse_line(number: int, text: str) -> Row | Problem:
    place = Place(number)
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        return Problem(place, error.colno, f"not JSON ({error.msg})")
    except (RecursionError, ValueError) as error:
        return Problem(place, 1, f"not usable JSON ({str(error)[:60]})")
    if not isinstance(record, dict):
        return Problem(place, 1, f"not a JSON object but {shown(record)}")
    return Row(place, record, {})


def read_json(path: Path) -> Rows:
    """An array of objects, or an object whose `examples` are one."""
    with opened(path) as file:
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        yield Problem(Place(1), 1, f"larger than {LARGEST:,} bytes: write it as JSON lines")
        return
    try:
        walk = _Walk(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        before = raw[: error.start].decode(errors="replace").split("\n")
        what = f"not UTF-8 text (byte 0x{raw[error.start]:02x})"
        yield Problem(Place(len(before)), len(before[-1]) + 1, what)
        return
    try:
        yield from _rows(walk)
    except json.JSONDecodeError as error:
        yield Problem(Place(error.lineno), error.colno, f"not JSON ({error.msg})")
    except (RecursionError, ValueError) as error:
        yield Problem(walk.place(), 1, f"not usable JSON ({str(error)[:60]})")


class _Walk:
    """Walks through a JSON text value by value and knows the current line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self._decoder = json.JSONDecoder()
        self._counted, self._line = 0, 1

    def place(self) -> Place:
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return Place(self._line)

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        space = re.compile(r"[ \t\r\n]*").match(self.text, self.at)
        self.at = space.end() if space else self.at
        return self.text[self.at : self.at + 1]

    def take(self, allowed: str) -> str:
        """Consume one of the allowed characters."""
        character = self.peek()
        if not character or character not in allowed:
            raise json.JSONDecodeError(f"expected one of {allowed}", self.text, self.at)
        self.at += 1
        return character

    def value(self) -> Any:
        self.peek()
        value, self.at = self._decoder.raw_decode(self.text, self.at)
        return value

    def array(self) -> Iterator[tuple[Place, Any]]:
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        while True:
            self.peek()
            place = self.place()
            yield place, self.value()
            if self.take(",]") == "]":
                return


def _rows(walk: _Walk) -> Rows:
    if walk.peek() == "[":
        yield from _items(walk, {})
    elif walk.peek() == "{":
        yield from _object(walk)
    else:
        yield Problem(walk.place(), 1, f"not a JSON array of objects but {shown(walk.value())}")
    if walk.peek():
        raise json.JSONDecodeError("text after the end", walk.text, walk.at)


def _object(walk: _Walk) -> Rows:
    """A file with a header and a list of examples, which may stand before parts of the header."""
    header: dict[str, Any] = {}
    items: list[Row | Problem] | None = None
    walk.take("{")
    while walk.peek() != "}":
        key = walk.value()
        walk.take(":")
        if key == "examples" and walk.peek() == "[":
            items = list(_items(walk, header))
        else:
            header[str(key)] = walk.value()
        if walk.peek() != "}":
            walk.take(",")
    walk.take("}")
    if items is None:
        yield Problem(Place(1), "examples", "missing, or not a list")
    yield from items or ()


def _items(walk: _Walk, header: dict[str, Any]) -> Rows:
    for place, item in walk.array():
        if isinstance(item, dict):
            yield Row(place, item, header)
        else:
            yield Problem(place, 1, f"not an object but {shown(item)}")
