"""A model's own answers, as far as they are right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headatlas.tasks.answers import RIGHT, first_line, token_f1

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.tasks import Example

AT_ONCE = 8
"""Questions that are answered at a time."""

SPARE = 4
"""Tokens that an answer may have beyond twice the reference's."""


def own_answers(model: Model, examples: dict[int, Example]) -> dict[int, Example]:
    """The examples whose generated answer is correct, with that answer as their target.

    It begins with the space that the reference begins with, if any.
    """
    answered = {}
    numbers = list(examples)
    for start in range(0, len(numbers), AT_ONCE):
        chosen = numbers[start : start + AT_ONCE]
        batch = [examples[n] for n in chosen]
        longest = max(len(model.encode(example.prompt, example.target).target) for example in batch)
        generated = model.generate(
            [example.prompt for example in batch], max_new_tokens=2 * longest + SPARE
        )
        for number, text in zip(chosen, generated, strict=True):
            example, answer = examples[number], first_line(str(text))
            if token_f1(answer, example.target) >= RIGHT:
                space = example.target[: -len(example.target.lstrip()) or None]
                answered[number] = replace(example, target=space + answer, choices=())
    return answered
