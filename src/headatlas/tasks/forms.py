"""Forms of one task: how the same question is put to the model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headatlas.errors import TaskError
from headatlas.tasks.example import Example

Tokenizer = Any
"""A tokenizer of `transformers`; tasks are independent of the package."""


@dataclass(frozen=True)
class Form:
    """`icl`: solved examples first; `instruction`: what to do and one solved example; `plain`.

    With `chat`, the same is put as turns of a conversation, in the model's own chat template.

    >>> str(Form("icl", 5, chat=True))
    'icl=5:chat'
    """

    kind: str
    shots: int = 0
    chat: bool = False

    def __str__(self) -> str:
        number = f"={self.shots}" if self.kind == "icl" else ""
        return f"{self.kind}{number}{':chat' if self.chat else ''}"


PLAIN = Form("plain")
KINDS = ("icl", "instruction", "plain")


def split_name(name: str) -> tuple[str, list[str]]:
    """A task's name and the words behind it: `antonym:icl=5:chat`, `cognition:only=Retrieval`."""
    found = re.fullmatch(
        r"(.+?)((?::(?:icl(?:=\d{1,4})?|instruction|plain|chat|only=[^:]+))*)", name, re.DOTALL
    )
    if found is None:
        return name, []
    return found[1], [word for word in found[2].split(":") if word]


def make_form(words: Sequence[str], default: Form, shots: int) -> Form:
    """The form that words ask for; `shots` is how many examples `icl` has when no number stands."""
    kinds = [word for word in words if word != "chat"]
    if len(kinds) > 1 or len(words) - len(kinds) > 1:
        raise TaskError(f"':{':'.join(words)}' is more than one form: choose one.")
    form = replace(default, chat=default.chat or len(kinds) < len(words))
    for word in kinds:
        kind, _, number = word.partition("=")
        if kind not in KINDS or (number and (kind != "icl" or not number.isdecimal())):
            raise TaskError(f"no form '{word}': there are icl, icl=N, instruction, plain and chat.")
        wanted = {"icl": int(number) if number else shots, "instruction": 1, "plain": 0}[kind]
        if kind == "icl" and not number and not shots:
            raise TaskError("the task has no solved examples for ':icl': give it more questions.")
        form = replace(form, kind=kind if wanted else "plain", shots=wanted)
    return form


def as_text(
    example: Example, shots: Sequence[Example], instruction: str, separator: str
) -> Example:
    """The question after its instruction and solved examples, as one text."""
    head = f"{instruction}{separator}" if instruction else ""
    start = head + "".join(shot.prompt + shot.target + separator for shot in shots)
    return replace(example, prompt=start + example.prompt)


def as_chat(
    example: Example, shots: Sequence[Example], instruction: str, tokenizer: Tokenizer
) -> Example:
    """The question as the last turn of a conversation in which the examples were answered."""
    turns: list[dict[str, str]] = []
    for shot in shots:
        turns.append({"role": "user", "content": shot.prompt.strip()})
        turns.append({"role": "assistant", "content": shot.target.strip()})
    turns.append({"role": "user", "content": example.prompt.strip()})
    if instruction:
        turns[0]["content"] = f"{instruction}\n\n{turns[0]['content']}"
    return replace(
        example,
        prompt=_apply_template(tokenizer, turns),
        target=example.target.lstrip(),
        choices=tuple(choice.lstrip() for choice in example.choices),
        corrupted_target=example.corrupted_target and example.corrupted_target.lstrip(),
    )


def _apply_template(tokenizer: Tokenizer, turns: list[dict[str, str]]) -> str:
    if not getattr(tokenizer, "chat_template", None):
        raise TaskError("this model has no chat template: leave ':chat' away.")
    try:
        text = str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
    except Exception as error:  # whatever a template from outside does
        raise TaskError(
            f"the model's chat template cannot show this task: {str(error)[:120]}."
        ) from error
    start = str(tokenizer.bos_token or "")
    # where the tokenizer puts BOS first by itself, a second one would stand in the text
    if start and text.startswith(start) and _puts_first(tokenizer, start):
        text = text[len(start) :]
    return text


def _puts_first(tokenizer: Tokenizer, start: str) -> bool:
    ids = list(tokenizer("a")["input_ids"])
    bare = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    return len(ids) > len(bare) and str(tokenizer.decode(ids[:1])) == start
