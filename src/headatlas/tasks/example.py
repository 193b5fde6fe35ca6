"""One question: prompt and target, and what is known about them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headatlas.errors import TaskError
from headatlas.tasks.html import example_html

Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class Example:
    """A prompt and the text that should follow it; they are joined exactly as they stand.

    `choices` are all possible answers, including the target. `function` is the cognitive function
    that the question needs. `corrupted` is a prompt of the same shape to which the target is no
    longer the answer; its own answer, if it has exactly one, is `corrupted_target`. Examples with
    the same `group` belong to one question, worded differently or asked in several steps; without
    a group, the prompt itself identifies the question.

    >>> Example("Q: wolf\\nA:", " wolves").question
    'q: wolf a:'
    """

    prompt: str
    target: str
    choices: tuple[str, ...] = ()
    function: str | None = None
    corrupted: str | None = None
    corrupted_target: str | None = None
    group: str = ""
    metadata: Mapping[str, Scalar] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        for name in ("prompt", "target", "group"):
            _require_text(name, getattr(self, name))
        for name in ("function", "corrupted", "corrupted_target"):
            if getattr(self, name) is not None:
                _require_text(name, getattr(self, name))
        if not isinstance(self.choices, list | tuple):
            raise TaskError(
                f"the choices of an example are {self.choices!r}: give a tuple of strings."
            )
        for choice in self.choices:
            _require_text("choice", choice)
        object.__setattr__(self, "choices", tuple(dict.fromkeys(self.choices)))
        if self.choices and self.target not in self.choices:
            raise TaskError(f"the target {self.target!r} is not among the choices {self.choices}.")
        if not isinstance(self.metadata, Mapping):
            raise TaskError(f"the metadata of an example are {self.metadata!r}: give a dictionary.")

    @property
    def question(self) -> str:
        """The key of the question: examples with the same key are never in two splits."""
        return self.group or question_key(self.prompt)

    def content(self) -> str:
        """Everything the example holds, as canonical text."""
        return json.dumps(
            [
                self.prompt,
                self.target,
                list(self.choices),
                self.function,
                self.corrupted,
                self.corrupted_target,
                self.question,
                sorted(self.metadata.items()),
            ]
        )

    def _repr_html_(self) -> str:
        return example_html(self)


def _require_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise TaskError(f"the {name} of an example is {value!r}: give a string.")


def question_key(prompt: str) -> str:
    """A prompt without the differences that leave the question the same: case and spacing.

    >>> question_key("Q:  Wolf\\nA:") == question_key("q: wolf a:")
    True
    """
    return " ".join(prompt.casefold().split())
