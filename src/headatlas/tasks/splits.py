"""Four disjoint splits: no question lies in two of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from headatlas.errors import TaskError
from headatlas.tasks.example import Example, question_key

SPLITS = ("examples", "train", "select", "test")
"""Solved examples for prompts; what fits; what chooses heads; what scores."""

SHARES = {"examples": 0.15, "train": 0.40, "select": 0.15, "test": 0.30}

FEWEST = 8
"""With fewer questions than this there is nothing to divide: all are test questions."""

Splits = dict[str, tuple[Example, ...]]


def divide(examples: Sequence[Example], into: Sequence[str] = SPLITS) -> Splits:
    """Divide examples by question, in an order that depends on the questions alone.

    Questions are taken in the order of their hashes and cut by the shares, so the same examples
    always fall into the same splits, in every process and in any order of the file. The examples of
    a split keep their order.
    """
    keys = question_keys(examples)
    questions = sorted(set(keys), key=_hash)
    where = dict.fromkeys(questions, "test" if "test" in into else "train")
    if len(questions) >= FEWEST:
        total, start = sum(SHARES[split] for split in set(into)), 0.0
        for split in (split for split in SPLITS if split in into):
            stop = start + SHARES[split] / total
            low, high = round(start * len(questions)), round(stop * len(questions))
            where.update(dict.fromkeys(questions[low:high], split))
            start = stop
    return {
        split: tuple(each for each, key in zip(examples, keys, strict=True) if where[key] == split)
        for split in SPLITS
    }


def question_keys(examples: Iterable[Example]) -> list[str]:
    """The question of every example; groups that share a prompt are one question."""
    parent: dict[str, str] = {}

    def root(key: str) -> str:
        while parent.setdefault(key, key) != key:
            parent[key] = parent[parent[key]]
            key = parent[key]
        return key

    pairs = [(f"group {each.question}", f"prompt {question_key(each.prompt)}") for each in examples]
    for group, prompt in pairs:
        one, other = sorted((root(group), root(prompt)))
        parent[other] = one
    return [root(group) for group, _ in pairs]


def check_disjoint(name: str, splits: Mapping[str, Sequence[Example]]) -> None:
    """Raise if a question lies in two splits, or a split has an unknown name."""
    for split in splits:
        if split not in SPLITS:
            raise TaskError(f"no split '{split}': the splits are {', '.join(SPLITS)}.")
    placed = [(split, each) for split in splits for each in splits[split]]
    home: dict[str, str] = {}
    for (split, each), key in zip(placed, question_keys(each for _, each in placed), strict=True):
        if home.setdefault(key, split) != split:
            raise TaskError(
                f"the task '{name}' has one question in two splits, '{home[key]}' and '{split}': "
                f"{each.prompt[-80:]!r}."
            )


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
