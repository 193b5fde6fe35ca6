"""Records with columns for prompt and target, whatever the file calls them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from headatlas.errors import TaskError
from headatlas.tasks.example import Example, Scalar
from headatlas.tasks.files.rows import Place, Problem, Row, shown

FIELDS = (
    "prompt", "target", "choices", "function", "split", "group", "corrupted", "corrupted_target"
)  # fmt: skip
REQUIRED = ("prompt", "target")

SPLIT_NAMES = {
    "demonstrations": "demonstrations",
    "examples": "demonstrations",
    "few-shot": "demonstrations",
    "train": "train",
    "training": "train",
    "select": "select",
    "validation": "select",
    "valid": "select",
    "val": "select",
    "dev": "select",
    "test": "test",
}


@dataclass(frozen=True)
class FileExample:
    """An example of a file, its place, and the split that the file gives it."""

    place: Place
    example: Example
    split: str | None = None


Items = Iterator[FileExample | Problem]


@dataclass(frozen=True)
class ReadOptions:
    """How a file is read: which of its columns is what, and how a question is formatted.

    `columns` maps our names to the file's. `template` contains `{prompt}` and ends in `{target}`;
    without one, prompt and target are joined as they are. `instruction` is for the form of that
    name.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    template: str | None = None
    instruction: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise TaskError(f"columns is {self.columns!r}: give a dictionary of column names.")
        for name in self.columns:
            if name not in FIELDS:
                raise TaskError(f"no column '{name}' to map: there are {', '.join(FIELDS)}.")
        if self.template is not None:
            before, target, after = self.template.partition("{target}")
            if not target or after.strip() or before.count("{prompt}") != 1:
                raise TaskError(
                    f"the template {self.template!r} should contain {{prompt}} and end in "
                    "{target}."
                )

    def write(self, prompt: str, target: str) -> tuple[str, str]:
        """Prompt and target in the template; the space between them becomes part of the target."""
        if self.template is None:
            return prompt, target
        before = self.template.partition("{target}")[0]
        bare = before.rstrip(" ")
        return bare.replace("{prompt}", prompt), before[len(bare) :] + target


def read_columns(row: Row, options: ReadOptions) -> Items:
    """The example of one record, or the first problem in it."""
    record, columns = row.record, options.columns
    values: dict[str, Any] = {}
    for name in FIELDS:
        column = columns.get(name, name)
        value = record.get(column)
        if value is None or (value == "" and name not in REQUIRED):
            if name in REQUIRED:
                yield Problem(row.place, column, _missing(record, column, value))
                return
            continue
        try:
            values[name] = _check(name, value)
        except ValueError as error:
            yield Problem(row.place, column, str(error))
            return
    prompt, target = options.write(values["prompt"], values["target"])
    corrupted = values.get("corrupted")
    choices = values.get("choices", ())
    if choices and values["target"] not in choices:
        column = columns.get("choices", "choices")
        yield Problem(row.place, column, f"the target {shown(target)} is not among the choices")
        return
    used = {columns.get(name, name) for name in FIELDS}
    example = Example(
        prompt,
        target,
        tuple(options.write("", choice)[1] for choice in choices),
        values.get("function"),
        options.write(corrupted, "")[0] if corrupted is not None else None,
        options.write("", other)[1] if (other := values.get("corrupted_target")) else None,
        values.get("group", ""),
        {
            key: value
            for key, value in record.items()
            if key not in used and isinstance(value, Scalar)
        },
    )
    yield FileExample(row.place, example, values.get("split"))


def _missing(record: Mapping[str, Any], column: str, value: Any) -> str:
    if column in record:
        return f"is {'empty' if value == '' else 'null'}, but should be text"
    present = ", ".join(f"'{key}'" for key in list(record)[:6])
    if not present:
        return "is missing"
    return f"is missing (there is {shown(present)[1:-1]}; the option 'columns' maps names)"


def _check(name: str, value: Any) -> Any:
    """A value of a column as it is kept; ValueError says what is wrong."""
    if name == "choices":
        return _check_choices(value)
    if name == "group" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise ValueError(f"is {shown(value)}, but should be text")
    if name == "split":
        split = SPLIT_NAMES.get(value.strip().lower())
        if split is None:
            raise ValueError(
                f"is {shown(value)}, but should be demonstrations, train, select or test"
            )
        return split
    return check_text(value)


def check_text(value: str) -> str:
    """Text that can be tokenized and stored; ValueError says what is wrong."""
    if not value:
        raise ValueError("is empty, but should be text")
    if "\0" in value:
        raise ValueError("contains a null character")
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError("contains half a character (a lone surrogate)")
    return value


def _check_choices(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):  # a cell of a table: a JSON list, or texts separated by bars
        try:
            value = json.loads(value) if value.lstrip().startswith("[") else value.split("|")
        except (ValueError, RecursionError):
            raise ValueError(f"is {shown(value)}, which is not a list") from None
    if not isinstance(value, list | tuple) or not all(isinstance(choice, str) for choice in value):
        raise ValueError(f"is {shown(value)}, but should be a list of texts")
    choices = tuple(check_text(choice) for choice in value)
    if len(set(choices)) < max(2, len(choices)):
        raise ValueError(f"is {shown(value)}, but should be two or more different texts")
    return choices
