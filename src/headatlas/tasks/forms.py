"""Forms of one task: how the same question is presented to the model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headatlas.errors import TaskError
from headatlas.tasks.example import Example

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


@dataclass(frozen=True)
class Form:
    """`icl`: demonstrations first; `instruction`: an instruction and one demonstration; `plain`:
    the question alone.

    With `chat`, the same becomes turns of a conversation in the model's own chat template.

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
SUFFIX = r"icl(?:=\d{1,9})?|instruction|plain|chat|only=[^:]+"
"""What may follow a task's name after a colon."""


def split_name(name: str) -> tuple[str, list[str]]:
    """A task's name and its suffixes: `antonym:icl=5:chat`, `cognition:only=Retrieval`.

    >>> split_name("antonym:icl=5:chat")
    ('antonym', ['icl=5', 'chat'])
    """
    match = re.fullmatch(rf"(.+?)((?::(?:{SUFFIX}))*)", name, re.DOTALL)
    if match is None:
        return name, []
    return match[1], [suffix for suffix in match[2].split(":") if suffix]


def unknown_suffix(suffixes: Sequence[str]) -> str:
    """The first suffix that is neither a form nor `only=FUNCTION`."""
    unknown = (suffix for suffix in suffixes if not re.fullmatch(SUFFIX, suffix))
    return next(unknown, suffixes[-1])


def form_words(form: str | Sequence[str]) -> list[str]:
    """The words of a form, given as one text or as a list.

    >>> form_words("icl=5:chat")
    ['icl=5', 'chat']
    """
    words = form.split(":") if isinstance(form, str) and form else form
    if not isinstance(words, str | list | tuple) or not all(isinstance(w, str) for w in words):
        raise TaskError(f"{form!r} is not a form: give a string such as 'icl=5:chat'.")
    return list(words)


def make_form(words: Sequence[str], default: Form, shots: int) -> Form:
    """The form that the words describe; `shots` is the number of demonstrations of a bare `icl`."""
    for word in words:
        if word.partition("=")[0] not in (*KINDS, "chat") or not re.fullmatch(SUFFIX, word):
            raise TaskError(f"no form '{word}': use icl, icl=N, instruction, plain or chat.")
    kinds = [word for word in words if word != "chat"]
    if len(kinds) > 1 or len(words) - len(kinds) > 1:
        raise TaskError(f"':{':'.join(words)}' is more than one form: choose one.")
    form = replace(default, chat=default.chat or len(kinds) < len(words))
    for word in kinds:
        kind, _, number = word.partition("=")
        if kind == "icl" and not number and not shots:
            raise TaskError(
                "the task has no demonstrations for ':icl': give it more questions, or a column "
                "'split' with demonstrations."
            )
        needed = {"icl": int(number) if number else shots, "instruction": 1, "plain": 0}[kind]
        form = replace(form, kind=kind if needed else "plain", shots=needed)
    return form


def as_text(
    example: Example, shots: Sequence[Example], instruction: str, separator: str
) -> Example:
    """The question after its instruction and demonstrations, as one text."""
    prefix = f"{instruction}{separator}" if instruction else ""
    prefix += "".join(shot.prompt + shot.target + separator for shot in shots)
    return replace(example, prompt=prefix + example.prompt)


def as_chat(
    example: Example,
    shots: Sequence[Example],
    instruction: str,
    tokenizer: PreTrainedTokenizerBase,
) -> Example:
    """The question as the last turn of a conversation in which the assistant has answered the
    demonstrations."""
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


def _apply_template(tokenizer: PreTrainedTokenizerBase, turns: list[dict[str, str]]) -> str:
    if not getattr(tokenizer, "chat_template", None):
        raise TaskError("this model has no chat template: leave out ':chat'.")
    try:
        text = str(tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True))
    except Exception as error:  # a template comes with the model and may raise anything
        raise TaskError(
            f"the model's chat template cannot be applied to this task: {str(error)[:120]}."
        ) from error
    bos = str(tokenizer.bos_token or "")
    # a tokenizer that adds BOS by itself would put a second one before the template's
    if bos and text.startswith(bos) and _adds_bos(tokenizer, bos):
        text = text[len(bos) :]
    return text


def _adds_bos(tokenizer: PreTrainedTokenizerBase, bos: str) -> bool:
    with_special = list(tokenizer("a")["input_ids"])
    bare = list(tokenizer("a", add_special_tokens=False)["input_ids"])
    return len(with_special) > len(bare) and str(tokenizer.decode(with_special[:1])) == bos
