"""Which formats there are, and which one a file is in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from headatlas.errors import TaskError
from headatlas.tasks.files.columns import SPLIT_NAMES, ReadOptions, read_columns
from headatlas.tasks.files.jsons import read_json, read_jsonl
from headatlas.tasks.files.published import (
    Reader,
    guarded,
    read_big_bench,
    read_blimp,
    read_cogqa,
    read_function_vectors,
    read_gsm8k,
)
from headatlas.tasks.files.rows import Problem, Row, Rows, Source
from headatlas.tasks.files.tables import count_rows, read_csv, read_parquet, read_tsv

CONTAINERS: dict[str, Callable[[Path], Rows]] = {
    ".jsonl": read_jsonl,
    ".ndjson": read_jsonl,
    ".json": read_json,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".tab": read_tsv,
    ".parquet": read_parquet,
}
"""How records are stored, by the ending of the file's name."""


@dataclass(frozen=True)
class Format:
    """What records mean: how they become examples, and the default form of the task.

    `signs` are the fields by which a record of this format is recognized: `a|b` is either of two
    fields, `a~text` a field that contains the text. `takes` are the options it supports.
    """

    name: str
    read: Reader
    signs: tuple[str, ...]
    shots: int = 0
    measure: str = "accuracy"
    shuffling_corrupts: bool = False
    takes: tuple[str, ...] = ()

    def check(self, options: ReadOptions) -> Format:
        """The format itself; raises if it does not support one of the options."""
        for option in ("columns", "template"):
            if getattr(options, option) and option not in self.takes:
                raise TaskError(f"files of the format '{self.name}' take no {option}.")
        return self


FORMATS: dict[str, Format] = {
    known.name: known
    for known in (
        Format("columns", read_columns, ("prompt", "target"),
               takes=("columns", "template")),
        Format("cogqa", guarded(read_cogqa),
               ("question", "generated"), measure="logprob"),
        Format("blimp", guarded(read_blimp),
               ("sentence_good", "sentence_bad")),
        Format("gsm8k", guarded(read_gsm8k),
               ("question", "answer~####"), shots=1, measure="logprob", takes=("template",)),
        Format("big-bench", guarded(read_big_bench),
               ("input", "target_scores|target"), shots=1),
        Format("function-vectors", read_function_vectors,
               ("input", "output"), shots=10, shuffling_corrupts=True,
               takes=("columns", "template")),
    )
}  # fmt: skip
"""A new format is one line here and its reader."""


def sources_of(path: Path) -> list[Source]:
    """The rows of a file, or of all task files of a folder.

    In a folder, the names of the files decide which are for training and which for testing.
    """
    if not path.is_dir():
        return [_source(path, None)]
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in CONTAINERS)
    if not files:
        raise TaskError(f"the folder {path} contains no task file ({', '.join(CONTAINERS)}).")
    return [_source(file, split_in(file.stem) if len(files) > 1 else None) for file in files]


def _source(path: Path, split: str | None) -> Source:
    container = CONTAINERS.get(path.suffix.lower())
    if container is None:
        raise TaskError(
            f"{path} is not a task file: its name should end in one of {', '.join(CONTAINERS)}."
        )
    return Source(str(path), partial(container, path), split, partial(count_rows, path))


def split_in(name: str) -> str | None:
    """The split that the name of a file, or of a split on the hub, stands for.

    >>> split_in("balanced_test_data"), split_in("validation-00000-of-00001"), split_in("latest")
    ('test', 'select', None)
    """
    words = re.split(r"[^a-z]+", name.lower())
    return next((SPLIT_NAMES[word] for word in words if word in SPLIT_NAMES), None)


def format_of(source: Source, name: str | None, options: ReadOptions) -> Format:
    """The format of this name, or else the one that the first readable row looks like."""
    if name is not None:
        if name not in FORMATS:
            raise TaskError(f"no format '{name}': there are {', '.join(FORMATS)}.")
        return FORMATS[name].check(options)
    if options.columns:
        return FORMATS["columns"]
    for row in islice(_readable(source.rows()), 1):
        for candidate in FORMATS.values():
            if all(_has(row.record, sign) for sign in candidate.signs):
                return candidate.check(options)
    return FORMATS["columns"]


def _readable(rows: Rows) -> Iterator[Row]:
    return (row for row in islice(rows, 100) if not isinstance(row, Problem))


def _has(record: Mapping[str, Any], sign: str) -> bool:
    field, _, text = sign.partition("~")
    return any(name in record and text in str(record[name]) for name in field.split("|"))
