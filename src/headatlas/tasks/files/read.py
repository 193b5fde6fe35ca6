"""A task from files; the first problem raises."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from headatlas.errors import TaskError
from headatlas.tasks.example import Example
from headatlas.tasks.files.columns import FileExample, Items, ReadOptions
from headatlas.tasks.files.formats import Format, format_of
from headatlas.tasks.files.rows import Problem, Row, Source
from headatlas.tasks.forms import Form
from headatlas.tasks.splits import FEWEST, SPLITS, Splits, divide, question_keys
from headatlas.tasks.task import Task

MOST = 100_000
"""Number of examples per split that a task takes from files; no method needs more."""


def read_task(
    name: str,
    sources: Sequence[Source],
    file_format: str | None = None,
    options: ReadOptions | None = None,
) -> Task:
    """The task of one or more sources of rows."""
    options = options or ReadOptions()
    kind = format_of(sources[0], file_format, options)
    examples: list[FileExample] = []
    left_out: Counter[str] = Counter()
    taken: Counter[str | None] = Counter()
    stopped_early = False
    for source in sources:
        for item in _items(source, kind, options):
            if isinstance(item, Problem):
                if not item.skipped:
                    raise TaskError(f"{source.name}, {item}.")
                left_out[item.what] += 1
                continue
            split = item.split or source.split
            taken[split] += 1
            if taken[split] <= MOST:
                examples.append(replace(item, split=split))
            elif item.split is None:
                stopped_early = True
                break  # a source may have no end
    if not examples:
        raise TaskError(f"the task file {sources[0].name} is empty: it contains no examples.")
    remarks = [f"left out {count}: {what}" for what, count in left_out.items()]
    if max(taken.values()) > MOST:
        unread = "; the rest of the file was not read" if stopped_early else ""
        remarks.append(f"only the first {MOST:,} examples of a split are used{unread}")
    if len(sources) > 1:
        remarks.append(f"{len(sources)} files are read as one task")
    splits, moved = place(examples)
    if moved:
        remarks.append(f"left out {moved}: the question is also in another split")
    if not splits["train"] and not any(example.split for example in examples):
        remarks.append(f"too few questions to divide ({FEWEST} are needed): all are test questions")
    return _make(name, kind, splits, options.instruction or "", tuple(remarks))


def _items(source: Source, kind: Format, options: ReadOptions) -> Iterator[FileExample | Problem]:
    for row in source.rows():
        yield from items_of(row, kind, options)


def items_of(row: Row | Problem, kind: Format, options: ReadOptions) -> Items:
    """The examples of a row, and what cannot be used."""
    if isinstance(row, Problem):
        yield row
    else:
        yield from kind.read(row, options)


def _make(
    name: str, kind: Format, splits: Splits, instruction: str, remarks: tuple[str, ...]
) -> Task:
    shots = min(kind.shots, len(splits["demonstrations"]))
    return Task(
        name,
        1,
        f"a task file in the format '{kind.name}'",
        splits,
        form=Form("icl", shots) if shots else Form("plain"),
        shots=shots,
        instruction=instruction,
        shuffling_corrupts=kind.shuffling_corrupts,
        measure=kind.measure,
        remarks=remarks,
    )


def place(examples: Sequence[FileExample]) -> tuple[Splits, int]:
    """The splits of a file's examples, and how many of them are left out.

    A question that the file has in several splits stays only in the last of them, since scores must
    not depend on questions that were used for fitting.
    """
    if not any(example.split for example in examples):
        return divide([item.example for item in examples]), 0
    keys = question_keys(item.example for item in examples)
    split_of: dict[str, str | None] = {}
    for example, key in zip(examples, keys, strict=True):
        if key not in split_of or _rank(example.split) > _rank(split_of[key]):
            split_of[key] = example.split
    kept = [
        example
        for example, key in zip(examples, keys, strict=True)
        if split_of[key] == example.split
    ]
    return _fill(kept), len(examples) - len(kept)


def _rank(split: str | None) -> int:
    return SPLITS.index(split) if split else -1


def _fill(examples: Sequence[FileExample]) -> Splits:
    """The splits that the file gives; the ones that it does not give get a share of `train`."""
    given: dict[str | None, list[Example]] = {}
    for item in examples:
        given.setdefault(item.split, []).append(item.example)
    missing = [split for split in SPLITS if split not in given]
    train = given.pop("train", [])
    enough = len(set(question_keys(train))) >= FEWEST
    from_train = divide(train, [*missing, "train"] if enough else ["train"])
    from_unmarked = divide(given.pop(None, []))
    return {
        split: (*given.get(split, ()), *from_train[split], *from_unmarked[split])
        for split in SPLITS
    }
