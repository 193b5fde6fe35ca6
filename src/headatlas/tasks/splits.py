"""Four disjoint splits: no question is in two of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from headatlas.errors import TaskError
from headatlas.tasks.example import Example, question_key

SPLITS = ("demonstrations", "train", "select", "test")
"""For solved examples in prompts; for fitting; for choosing heads; for scoring."""

DIGEST_NAMES = {"demonstrations": "examples"}
"""Splits that enter hashes and random draws under another name. Any other spelling would change the
hash of every task, and with it every random draw and every map that is stored under that hash."""

SHARES = {"demonstrations": 0.15, "train": 0.40, "select": 0.15, "test": 0.30}

FEWEST = 8
"""The smallest number of questions that is divided; fewer are all test questions."""

Splits = dict[str, tuple[Example, ...]]


def divide(examples: Sequence[Example], into: Sequence[str] = SPLITS) -> Splits:
    """Divide examples by question, in an order that depends on the questions alone.

    Questions are sorted by their hashes and cut by the shares, so the same examples always fall
    into the same splits, in every process and in any order of the file. The examples of a split
    keep their order.
    """
    keys = question_keys(examples)
    questions = sorted(set(keys), key=_hash)
    split_of = dict.fromkeys(questions, "test" if "test" in into else "train")
    if len(questions) >= FEWEST:
        total, start = sum(SHARES[split] for split in set(into)), 0.0
        for split in (split for split in SPLITS if split in into):
            stop = start + SHARES[split] / total
            low, high = round(start * len(questions)), round(stop * len(questions))
            split_of.update(dict.fromkeys(questions[low:high], split))
            start = stop
    return {
        split: tuple(
            example for example, key in zip(examples, keys, strict=True) if split_of[key] == split
        )
        for split in SPLITS
    }


def question_keys(examples: Iterable[Example]) -> list[str]:
    """The key of every example's question; groups that share a prompt are one question.

    The key of a question is the smallest string among its groups and prompts, so it does not depend
    on the order of the examples.
    """
    from scipy.cluster.hierarchy import DisjointSet

    pairs = [
        (f"group {example.question}", f"prompt {question_key(example.prompt)}")
        for example in examples
    ]
    questions = DisjointSet()
    for group, prompt in pairs:
        questions.add(group)
        questions.add(prompt)
        questions.merge(group, prompt)
    smallest: dict[str, str] = {}
    for name in questions:
        root = questions[name]
        smallest[root] = min(name, smallest.get(root, name))
    return [smallest[questions[group]] for group, _ in pairs]


def check_disjoint(name: str, splits: Mapping[str, Sequence[Example]]) -> None:
    """Raise if a question is in two splits, or a split has an unknown name."""
    for split in splits:
        check_split(split)
    placed = [(split, example) for split in splits for example in splits[split]]
    split_of: dict[str, str] = {}
    keys = question_keys(example for _, example in placed)
    for (split, example), key in zip(placed, keys, strict=True):
        if split_of.setdefault(key, split) != split:
            raise TaskError(
                f"the task '{name}' has the same question in two splits, '{split_of[key]}' and "
                f"'{split}': {example.prompt[-80:]!r}."
            )


def check_split(name: str) -> None:
    """Raise if there is no split of this name."""
    if name not in SPLITS:
        raise TaskError(f"no split '{name}': the splits are {', '.join(SPLITS)}.")


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
