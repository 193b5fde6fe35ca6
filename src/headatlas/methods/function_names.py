"""The functions that a probe can tell apart: those with enough examples in every split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from headatlas.errors import TaskError
from headatlas.methods.features import SPLITS_READ, Features
from headatlas.tasks import Task
from headatlas.tasks.functions import in_order

MIN_EXAMPLES = 5
"""Examples of a function that train, select and test each need; others are left out."""


def task_functions(task: Task) -> tuple[list[str], dict[str, int]]:
    """The functions with enough examples in every split, in order; and those with too few."""
    labels = {
        split: [
            str(example.function) for example in task.split(split) if example.function is not None
        ]
        for split in SPLITS_READ
    }
    return _functions(task.name, labels)


def feature_functions(
    features: Features, examples: int | None = None
) -> tuple[list[str], dict[str, int]]:
    """The same of the examples that were read: some may have been too long or wrong, or not been
    among the `examples` that were drawn."""
    hint = f" among the {examples} examples that were read: read more (--examples)" * bool(examples)
    if features.wrong:
        hint += f" ({features.wrong} answers of the model are wrong: try the reference answers)"
    return _functions(features.task.name, features.labels, hint)


def _functions(
    task: str, labels: Mapping[str, list[str]], hint: str = ""
) -> tuple[list[str], dict[str, int]]:
    counts = {split: Counter(split_labels) for split, split_labels in labels.items()}
    names = {name for split_labels in labels.values() for name in split_labels}
    _check_spelling(task, names)
    least = {
        name: min(split_counts[name] for split_counts in counts.values())
        for name in in_order(names)
    }
    known = [name for name, count in least.items() if count >= MIN_EXAMPLES]
    if len(known) < 2:
        have = ", ".join(f"{name} ({count})" for name, count in least.items())
        has = f"has, in its smallest split, {have}" if have else "has no column 'function'"
        raise TaskError(
            f"a probe tells functions apart, and needs two with {MIN_EXAMPLES} examples in every "
            f"split; '{task}' {has}{hint}."
        )
    return known, {name: count for name, count in least.items() if count < MIN_EXAMPLES}


def _check_spelling(task: str, names: Iterable[str]) -> None:
    """Raise if two labels are one function, spelled in two ways."""
    known: dict[str, str] = {}
    for name in sorted(names):
        other = known.setdefault(" ".join(name.casefold().split()), name)
        if other != name:
            raise TaskError(
                f"the labels '{other}' and '{name}' differ only in case or spaces in '{task}': "
                "write one function in one way."
            )
