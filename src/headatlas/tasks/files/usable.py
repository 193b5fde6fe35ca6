"""Which methods can use a file, judged from a sample of its examples."""

from __future__ import annotations

from collections import Counter

from headatlas.tasks.example import Example, question_key
from headatlas.tasks.files.columns import FileExample
from headatlas.tasks.files.read import place
from headatlas.tasks.files.rows import Place
from headatlas.tasks.splits import FEWEST, SPLITS, question_keys

SAMPLE = 100
"""Number of examples that are kept per split; only whether a split is empty matters."""

NEEDED_BY = {
    "train": "'gate', 'contrast' and 'probe' cannot use this file, and what 'ablate' finds in it "
    "cannot be checked",
    "select": "'probe' cannot use this file, 'check' tests no hard gates of it, and 'export' needs "
    "a seed and soft gates",
    "test": "'probe' and 'check' cannot use this file, and no baseline can be measured",
    "demonstrations": "the forms ':icl' and ':instruction' cannot be used",
}


class SplitSample:
    """A sample of the examples of a task, from which it can be told which splits stay empty."""

    def __init__(self) -> None:
        self._examples: list[FileExample] = []
        self._kept: Counter[tuple[str | None, bool]] = Counter()

    def add(self, example: Example, split: str | None, *, is_new: bool) -> None:
        """Keep an example if there are still few of its kind; `is_new`: the first of a question.

        New questions have a quota of their own, so that many examples of one question at the
        beginning of a file do not hide the other questions.
        """
        if self._kept[split, is_new] < SAMPLE:
            self._kept[split, is_new] += 1
            # hashes instead of texts: prompts may be long
            prompt, group = hash(question_key(example.prompt)), hash(example.question)
            reduced = Example(str(prompt), "", function=example.function, group=str(group))
            self._examples.append(FileExample(Place(0), reduced, split))

    def warnings(self) -> tuple[str, ...]:
        """What cannot be done with the file because a split stays empty."""
        splits, _ = place(self._examples)
        empty = [split for split in SPLITS if not splits[split]]
        number = len(set(question_keys(item.example for item in self._examples)))
        if number < FEWEST and not any(item.split for item in self._examples):
            questions = "1 question" if number == 1 else f"{number} questions"
            few = (
                f"only {questions}: too few to divide into splits ({FEWEST} are needed); all are "
                "for testing, which gating, probing and the replacements mean and resample cannot "
                "use"
            )
            return (few, f"no demonstrations: {NEEDED_BY['demonstrations']}")
        return tuple(f"no {_named(split)}: {NEEDED_BY[split]}" for split in empty)


def _named(split: str) -> str:
    return split if split == "demonstrations" else f"{split} questions"
