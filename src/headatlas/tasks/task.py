"""The task type: named, versioned, hashed; questions in four splits, in one of three forms."""

from __future__ import annotations

import hashlib
import json
import operator
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from headatlas.errors import TaskError
from headatlas.tasks.example import Example
from headatlas.tasks.forms import PLAIN, Form, form_words, make_form
from headatlas.tasks.functions import in_order
from headatlas.tasks.html import task_html
from headatlas.tasks.splits import DIGEST_NAMES, SPLITS, check_disjoint, check_split, divide
from headatlas.tasks.writing import write_prompts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MOST_SHOTS = 10
"""Number of demonstrations of the form `icl` if neither the task nor the user gives one."""

MEASURES = ("accuracy", "logprob")


@dataclass(frozen=True)
class Task:
    """Questions with their answers, and the form in which a model sees them.

    `splits` holds the questions: `demonstrations` are shown solved in prompts, `train` is for
    fitting, `select` for choosing heads, `test` for scoring. `form` is how a question is shown, and
    `shots` the default number of demonstrations of the form `icl`. `measure` decides whether a
    model can do the task: `accuracy`, or `logprob` against shuffled targets where answers are too
    long to be given word for word. With `shuffling_corrupts`, demonstrations with shuffled answers
    make the corrupted prompt. `remarks` state what was left out of the task, and why.

    >>> task = Task.of("plurals", [Example(f"Q: {w}\\nA:", f" {w}s") for w in "abcdefgh"])
    >>> task
    Task('plurals', 1 demonstrations + 3 train + 2 select + 2 test, form plain)
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
    build_for_tokenizer: Callable[[PreTrainedTokenizerBase], Task] | None = field(
        default=None, compare=False
    )
    tokenizer: PreTrainedTokenizerBase | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise TaskError(f"the name of a task is {self.name!r}: give a string.")
        if not any(self.splits.get(split) for split in ("train", "select", "test")):
            raise TaskError(
                f"the task '{self.name}' has no train, select or test questions: give it examples."
            )
        if self.measure not in MEASURES:
            raise TaskError(f"no measure '{self.measure}': use {' or '.join(MEASURES)}.")
        check_disjoint(self.name, self.splits)
        available = len(self.splits.get("demonstrations", ()))
        if self.form.shots > available:
            raise TaskError(
                f"the form '{self.form}' needs {self.form.shots} demonstrations, but the task "
                f"'{self.name}' has {available}."
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
        examples = list(examples)
        for example in examples:
            if not isinstance(example, Example):
                raise TaskError(f"{example!r} is not an Example: give Example(prompt, target).")
        return cls(name, version, description, divide(examples))

    def __repr__(self) -> str:
        sizes = " + ".join(f"{len(self.splits.get(split, ()))} {split}" for split in SPLITS)
        return f"Task({self.name!r}, {sizes}, form {self.form})"

    def _repr_html_(self) -> str:
        return task_html(self)

    @property
    def summary(self) -> str:
        """The description with the number of examples."""
        number = sum(map(len, self.splits.values()))
        return f"{self.description} ({number:,} example{'' if number == 1 else 's'})".lstrip()

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the content: changes if and only if what the model is asked changes.

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

        All random draws depend on it, so one seed draws the same questions and demonstrations in
        every form.
        """
        digest = hashlib.sha256()
        for split in SPLITS:
            digest.update(f"\n{DIGEST_NAMES.get(split, split)}".encode())
            for example in self.splits.get(split, ()):
                digest.update(f"\n{example.content()}".encode())
        return digest.hexdigest()

    def split(self, name: str) -> tuple[Example, ...]:
        """The bare questions of a split; raises if there are none."""
        check_split(name)
        if not self.splits.get(name):
            raise TaskError(
                f"the task '{self.name}' has no '{name}' questions: give it more examples, or a "
                "column 'split'."
            )
        return self.splits[name]

    def with_form(self, form: str | Sequence[str]) -> Task:
        """The same task in another form: `"instruction"`, `"icl=5:chat"` or `["icl=5", "chat"]`."""
        words = form_words(form)
        if not words:
            return self
        available = len(self.splits.get("demonstrations", ()))
        new_form = make_form(words, self.form, self.shots or min(MOST_SHOTS, available))
        return replace(self, name=":".join([self.name, *words]), form=new_form)

    def only(self, function: str) -> Task:
        """The task with only the examples that need one cognitive function."""
        available = in_order(
            example.function
            for examples in self.splits.values()
            for example in examples
            if example.function
        )
        chosen = [name for name in available if name.casefold() == str(function).casefold()]
        if not chosen:
            there_are = f"it has {', '.join(available)}" if available else "its examples have none"
            raise TaskError(f"no function '{function}' in the task '{self.name}': {there_are}.")
        return replace(
            self,
            name=f"{self.name}:only={chosen[0]}",
            description=f"{self.description}, only {chosen[0]}",
            splits={
                split: tuple(example for example in examples if example.function in chosen)
                for split, examples in self.splits.items()
            },
        )

    def for_tokenizer(self, tokenizer: PreTrainedTokenizerBase | None) -> Task:
        """The task for a model: made of its tokens if it is a task of tokens, and with its chat
        template if the form needs one. Calling it again changes nothing."""
        if tokenizer is None or tokenizer is self.tokenizer:
            return self
        task = self.build_for_tokenizer(tokenizer) if self.build_for_tokenizer else self
        return replace(task, name=self.name, form=self.form, tokenizer=tokenizer)

    # -- questions as the model sees them ---------------------------------------------------------

    def prompts(
        self, split: str = "test", seed: int = 0, limit: int | None = None
    ) -> list[Example]:
        """The questions of a split, or a random sample of `limit` of them, in their order.

        All follow the same demonstrations; the questions of `demonstrations` are shown alone.
        """
        questions = self.split(split)
        if limit is not None:
            limit = _at_least_one("limit", limit)
            rng = self._rng("ask", split, seed)
            sample = rng.sample(range(len(questions)), min(limit, len(questions)))
            questions = tuple(questions[i] for i in sorted(sample))
        return self._write_prompts(questions, split, f"{seed}")

    def batches(
        self, split: str = "train", size: int = 16, seed: int = 0, *, epochs: int | None = None
    ) -> Iterator[list[Example]]:
        """Shuffled batches; all prompts of a batch share a prefix of demonstrations, drawn for it.

        Order and prefixes depend only on the content of the task and the seed. Without `epochs` the
        batches never end, and one batch may span two epochs.
        """
        size = _at_least_one("size", size)
        if epochs is not None:
            epochs = _at_least_one("epochs", epochs)
        stream = self._shuffled(self.split(split), split, seed, epochs)
        batches = iter(lambda: list(islice(stream, size)), [])
        return (
            self._write_prompts(batch, split, f"{seed} {number}")
            for number, batch in enumerate(batches)
        )

    def _shuffled(
        self, questions: Sequence[Example], split: str, seed: int, epochs: int | None
    ) -> Iterator[Example]:
        for epoch in count() if epochs is None else range(epochs):
            yield from self._rng("order", split, f"{seed} {epoch}").sample(
                questions, len(questions)
            )

    def _write_prompts(self, questions: Sequence[Example], split: str, draw: str) -> list[Example]:
        rng = self._rng("shots", split, draw)
        number = 0 if split == "demonstrations" else self.form.shots
        shots = rng.sample(self.splits.get("demonstrations", ()), number)
        return write_prompts(self, questions, shots, rng)

    def _rng(self, purpose: str, split: str, draw: str | int) -> random.Random:
        name = DIGEST_NAMES.get(split, split)
        return random.Random(f"{self.questions_hash} {purpose} {name} {draw}")


def _at_least_one(name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise TaskError(f"{name} is {value!r}: give a whole number of at least 1.")
    return number
