"""One question: prompt and target, and what is known about them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from headatlas.errors import TaskError

Scalar = str | int | float | bool | None


@dataclass(frozen=True)
class Example:
    """A prompt and the text that should follow it, joined as they are.

    `choices` are all the answers to choose from, the target among them. `function` is the cognitive
    function the question needs. `corrupted` is a prompt of the same shape that no longer asks for
    the target (but for `corrupted_target`, where there is one answer). Examples of one `group` are
    one question, worded differently or asked in several parts; without a group, the prompt itself
    is the question.
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
        if self.choices and self.target not in self.choices:
            raise TaskError(f"the target {self.target!r} is not among the choices {self.choices}.")

    @property
    def question(self) -> str:
        """The key of the question: examples with the same key never lie in two splits."""
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


def question_key(prompt: str) -> str:
    """A prompt without the differences that leave the question the same: case and spacing.

    >>> question_key("Q:  Wolf\\nA:") == question_key("q: wolf a:")
    True
    """
    return " ".join(prompt.casefold().split())
