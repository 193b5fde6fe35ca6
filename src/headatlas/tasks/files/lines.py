"""Text files read line by line, however large; every byte is checked to be UTF-8."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from headatlas.tasks.files.rows import Place, Problem, UnreadableError

LONGEST_LINE = 16 * 2**20
"""Bytes of the longest line that is read; a file with a longer one is no file of examples."""

BOM = b"\xef\xbb\xbf"


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """The file, opened as bytes; raises UnreadableError if that fails."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise UnreadableError(f"the task file {path} cannot be read: {error.strerror}.") from error


def read_lines(path: Path) -> Iterator[tuple[int, str] | Problem]:
    """Numbered lines without \\n, \\r\\n or \\r; a line that is not UTF-8 is a problem."""
    number = 0
    with opened(path) as file:
        while raw := file.readline(LONGEST_LINE):
            if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
                place = Place(number + 1)
                yield Problem(place, LONGEST_LINE, f"longer than {LONGEST_LINE:,} bytes")
                return
            if number == 0:
                raw = raw.removeprefix(BOM)
            for piece in _pieces(raw):
                number += 1
                yield _decode(piece, number)


def _pieces(raw: bytes) -> list[bytes]:
    raw = raw.removesuffix(b"\n").removesuffix(b"\r")
    return raw.split(b"\r") if b"\r" in raw else [raw]


def _decode(raw: bytes, number: int) -> tuple[int, str] | Problem:
    try:
        return number, raw.decode()
    except UnicodeDecodeError as error:
        column = len(raw[: error.start].decode(errors="replace")) + 1
        return Problem(Place(number), column, f"not UTF-8 text (byte 0x{raw[error.start]:02x})")
