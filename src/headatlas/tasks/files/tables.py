"""Tables: CSV and TSV, whose first line names the columns, and Parquet."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headatlas.tasks.files.lines import opened, read_lines
from headatlas.tasks.files.rows import Place, Problem, Row, Rows, UnreadableError, shown

ROWS_AT_A_TIME = 1024


def read_csv(path: Path) -> Rows:
    """Comma-separated values; the first line names the columns."""
    return _read_separated(path, ",")


def read_tsv(path: Path) -> Rows:
    """Tab-separated values; the first line names the columns."""
    return _read_separated(path, "\t")


def _read_separated(path: Path, separator: str) -> Rows:
    broken: list[Problem] = []
    lines = csv.reader(_readable_lines(path, broken), delimiter=separator, strict=True)
    names: list[str] | None = None
    start = 1
    while True:
        try:
            cells = next(lines, None)
        except csv.Error as error:  # a quote that is not closed, a field that is too long
            yield Problem(Place(lines.line_num), 1, f"not a table ({error})")
            return
        yield from broken
        broken.clear()
        if cells is None:
            return
        place, start = Place(start), lines.line_num + 1
        if not cells:
            continue
        if names is None:
            names = cells
            yield from _check_names(names, place)
        elif len(cells) != len(names):
            there_are = "1 cell" if len(cells) == 1 else f"{len(cells)} cells"
            what = f"{there_are}, but the first line names {len(names)} columns"
            yield Problem(place, len(cells), what)
        else:
            yield Row(place, dict(zip(names, cells, strict=True)), {})


def _check_names(names: list[str], place: Place) -> Iterator[Problem]:
    for number, name in enumerate(names, start=1):
        if name in names[: number - 1]:
            yield Problem(place, number, f"the column {shown(name)} appears twice")


def _readable_lines(path: Path, broken: list[Problem]) -> Iterator[str]:
    """Lines for the csv module; a line that is not UTF-8 goes to `broken` and is left empty."""
    for line in read_lines(path):
        if isinstance(line, Problem):
            broken.append(line)
            yield "\n"
        else:
            yield f"{line[1]}\n"


def read_parquet(path: Path) -> Rows:
    """A Parquet file, a block of rows at a time."""
    import pyarrow
    from pyarrow import parquet

    with opened(path) as file:
        try:
            table = parquet.ParquetFile(file)
            number = 0
            for block in table.iter_batches(batch_size=ROWS_AT_A_TIME):
                for record in block.to_pylist():
                    number += 1
                    yield Row(Place(number, "row"), _plain(record), {})
        except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
            reason = (str(error).splitlines() or ["no reason given"])[0]
            raise UnreadableError(f"{path} is not a valid Parquet file: {reason[:120]}.") from error


def count_rows(path: Path) -> int | None:
    """About how many rows a file has: its lines, or its Parquet metadata; unknown for JSON."""
    if path.suffix.lower() == ".json":
        return None
    if path.suffix.lower() == ".parquet":
        from pyarrow import ArrowException, parquet

        try:
            return int(parquet.ParquetFile(path).metadata.num_rows)
        except (ArrowException, OSError):
            return None
    with opened(path) as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b""))


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in record.items()}
