"""The task type: named, versioned, hashed; questions in four splits, put in one of three forms."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, islice

from headatlas.errors import TaskError
from headatlas.tasks.example import Example
from headatlas.tasks.forms import PLAIN, Form, Tokenizer, as_chat, as_text, make_form
from headatlas.tasks.functions import in_order
from headatlas.tasks.splits import SPLITS, check_disjoint, divide

MOST_SHOTS = 10
"""Solved examples of the form `icl` where neither task nor user says how many."""

MEASURES = ("accuracy", "logprob")


@dataclass(frozen=True)
class Task:
    """Questions with their answers, and how they are put.

    `splits` holds the questions: `examples` are shown solved in prompts, `train` is for fitting,
    `select` for choosing heads, `test` for scoring. `form` says how a question is put, `shots` how
    many solved examples the form `icl` has by itself. `measure` tells whether a model can do the
    task: `accuracy`, or `logprob` against shuffled targets where answers are too long to be
    given word for word. Where `shuffling_corrupts`, solved examples with shuffled answers make the
    corrupted prompt. `remarks` are what a reader left out, and why.

    >>> task = Task.of("plurals", [Example(f"Q: {w}\\nA:", f" {w}s") for w in "abcdefgh"])
    >>> {split: len(task.splits[split]) for split in SPLITS}
    {'examples': 1, 'train': 3, 'select': 2, 'test': 2}
    """

    name: str
    version: int
    description: str
    splits: Mapping[str, tuple[Example, ...]] = field(hash=False)
    form: Form = PLAIN
    shots: int = 0
    instruction: str = ""
    separator: str = "\n\n"
    shuffling_corrupts: bool = False
    measure: str = "accuracy"
    remarks: tuple[str, ...] = ()
    remake: Callable[[Tokenizer], Task] | None = field(default=None, compare=False, repr=False)
    tokenizer: Tokenizer | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not any(self.splits.get(split) for split in ("train", "select", "test")):
            raise TaskError(
                f"the task '{self.name}' has nothing to ask: no train, select or test questions."
            )
        if self.measure not in MEASURES:
            raise TaskError(f"a task is measured by {' or '.join(MEASURES)}, not {self.measure}.")
        check_disjoint(self.name, self.splits)
        there = len(self.splits.get("examples", ()))
        if self.form.shots > there:
            raise TaskError(
                f"the task '{self.name}' wants {self.form.shots} solved examples but has {there}."
            )
        if self.form.kind == "instruction" and not self.instruction:
            raise TaskError(
                f"the task '{self.name}' has no instruction: use the form ':icl' or ':plain'."
            )

    @classmethod
    def of(
        cls, name: str, examples: Sequence[Example], description: str = "", version: int = 1
    ) -> Task:
        """A task from examples, divided into splits by question."""
        return cls(name, version, description, divide(examples))

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the content: changes when, and only when, what is asked changes.

        Name, description and remarks are not content; the order of the examples is.
        """
        template = getattr(self.tokenizer, "chat_template", None) if self.form.chat else None
        frame = [
            self.version,
            str(self.form),
            self.instruction,
            self.separator,
            self.shuffling_corrupts,
            self.measure,
            template and str(template),
        ]
        return hashlib.sha256(json.dumps([*frame, self.questions_hash]).encode()).hexdigest()

    @cached_property
    def questions_hash(self) -> str:
        """SHA-256 of the questions alone: the same for all forms of a task.

        Everything random is drawn from it, so that one seed draws the same questions and solved
        examples in every form.
        """
        digest = hashlib.sha256()
        for split in SPLITS:
            digest.update(f"\n{split}".encode())
            for each in self.splits.get(split, ()):
                digest.update(f"\n{each.content()}".encode())
        return digest.hexdigest()

    def split(self, name: str) -> tuple[Example, ...]:
        """The bare questions of a split; an empty one is a mistake worth a sentence."""
        if name not in SPLITS:
            raise TaskError(f"no split '{name}': the splits are {', '.join(SPLITS)}.")
        if not self.splits.get(name):
            raise TaskError(
                f"the task '{self.name}' has no '{name}' questions: give it more examples, or a "
                "column 'split'."
            )
        return self.splits[name]

    def with_form(self, words: Sequence[str]) -> Task:
        """The same task in another form: `["instruction"]`, `["icl=5", "chat"]`."""
        if not words:
            return self
        if isinstance(words, str):
            raise TaskError(f"a form is a list of words, such as ['{words}'].")
        there = len(self.splits.get("examples", ()))
        form = make_form(words, self.form, self.shots or min(MOST_SHOTS, there))
        return replace(self, name=":".join([self.name, *words]), form=form)

    def only(self, function: str) -> Task:
        """The task with the examples alone that need a cognitive function."""
        have = in_order(
            str(each.function) for every in self.splits.values() for each in every if each.function
        )
        wanted = [name for name in have if name.casefold() == function.casefold()]
        if not wanted:
            found = f"it has {', '.join(have)}" if have else "its examples have none"
            raise TaskError(f"no function '{function}' in the task '{self.name}': {found}.")
        splits = {
            split: tuple(each for each in every if each.function in wanted)
            for split, every in self.splits.items()
        }
        return replace(self, name=f"{self.name}:only={wanted[0]}", splits=splits)

    def for_tokenizer(self, tokenizer: Tokenizer | None) -> Task:
        """The task for a model: made of its own tokens where it consists of tokens, and with its
        chat template where the form wants it. Doing it again changes nothing."""
        if tokenizer is None or tokenizer is self.tokenizer:
            return self
        made = self.remake(tokenizer) if self.remake else self
        return replace(made, name=self.name, form=self.form, tokenizer=tokenizer)

    # -- questions as the model gets them ---------------------------------------------------------

    def prompts(self, split: str = "test", seed: int = 0, limit: int | None = None) -> list[Example]:
        """The questions of a split, or `limit` of them that the seed draws, in their order.

        All come after the same solved examples; the questions of `examples` come alone.
        """
        questions = self.split(split)
        if limit is not None:
            if limit < 1:
                raise TaskError(f"a limit of {limit} questions leaves none.")
            chance = self._random(f"ask {split} {seed}")
            drawn = chance.sample(range(len(questions)), min(limit, len(questions)))
            questions = tuple(questions[i] for i in sorted(drawn))
        return self._put(questions, split, f"{seed}")

    def batches(
        self, split: str = "train", size: int = 16, seed: int = 0, *, epochs: int | None = None
    ) -> Iterator[list[Example]]:
        """Shuffled batches that share a prefix, which is drawn anew for each batch.

        Order and prefixes depend on the content of the task and the seed alone. Without `epochs`
        there is no end; a batch then runs on into the next epoch.
        """
        if size < 1:
            raise TaskError(f"a batch of {size} questions is none.")
        stream = self._stream(split, seed, epochs)
        for number in count():
            batch = list(islice(stream, size))
            if not batch:
                return
            yield self._put(batch, split, f"{seed} {number}")

    def _stream(self, split: str, seed: int, epochs: int | None) -> Iterator[Example]:
        questions = self.split(split)
        for epoch in count() if epochs is None else range(epochs):
            yield from self._random(f"order {split} {seed} {epoch}").sample(
                questions, len(questions)
            )

    def _put(self, questions: Sequence[Example], split: str, draw: str) -> list[Example]:
        chance = self._random(f"shots {split} {draw}")
        number = 0 if split == "examples" else self.form.shots
        shots = chance.sample(self.splits.get("examples", ()), number)
        spoiled = self._spoil(shots, chance)
        rows = []
        for question in questions:
            row = self._write(question, shots)
            corrupted = None
            if question.corrupted is not None:
                corrupted = self._write(replace(question, prompt=question.corrupted), shots).prompt
            elif spoiled and (self.shuffling_corrupts or question.corrupted_target is not None):
                corrupted = self._write(question, spoiled).prompt
            other = row.corrupted_target if corrupted is not None else None
            rows.append(replace(row, corrupted=corrupted, corrupted_target=other))
        return rows

    def _write(self, question: Example, shots: Sequence[Example]) -> Example:
        instruction = self.instruction if self.form.kind == "instruction" else ""
        if self.form.chat:
            if self.tokenizer is None:
                raise TaskError(
                    f"'{self.name}' needs a model's chat template: use task.for_tokenizer first."
                )
            return as_chat(question, shots, instruction, self.tokenizer)
        return as_text(question, shots, instruction, self.separator)

    def _spoil(self, shots: Sequence[Example], chance: random.Random) -> list[Example]:
        """Solved examples that no longer show the task: none if the task has no such corruption.

        Either every example has a wrong answer of its own, or the answers are dealt out anew so
        that as few as possible stay the same.
        """
        if self.form.kind != "icl":
            return []
        if all(shot.corrupted is None and shot.corrupted_target for shot in shots):
            return [replace(shot, target=shot.corrupted_target or "") for shot in shots]
        if not self.shuffling_corrupts or len({shot.target for shot in shots}) < 2:
            return []
        counts = Counter(shot.target for shot in shots)
        order = sorted(range(len(shots)), key=lambda i: (shots[i].target, chance.random()))
        turn = max(counts.values())  # equal answers stand together: farther on comes another one
        given = {at: order[(i + turn) % len(order)] for i, at in enumerate(order)}
        return [replace(shot, target=shots[given[i]].target) for i, shot in enumerate(shots)]

    def _random(self, what: str) -> random.Random:
        return random.Random(f"{self.questions_hash} {what}")
