"""Tasks made of single tokens of the model at hand: `aba`, `abb` and `induction`.

The patterns are those of Yang et al. 2025 (arXiv 2502.20332); repeated random tokens as in Olsson
et al. 2022 (arXiv 2209.11895).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import Any

from headatlas.errors import TaskError
from headatlas.tasks.example import Example
from headatlas.tasks.forms import PLAIN, Form, Tokenizer
from headatlas.tasks.splits import divide
from headatlas.tasks.suites.listed import read_list
from headatlas.tasks.task import Task

QUESTIONS, SOLVED, SHOTS = 400, 60, 4
WORDS, FEWEST = 300, 40
"""Tokens that a task is made of, and the fewest that will do."""

LENGTH = 12
"""Different words of a repeated sequence."""


def pattern(name: str, tokenizer: Tokenizer | None = None) -> Task:
    """`aba`: "flow^Started^" → "flow"; `abb` → "Started"; after four examples of the pattern.

    The corrupted prompt shows the other pattern, so its answer is the other word.
    """
    chance = random.Random(f"{name} 1")
    words = single_tokens(tokenizer, "^", chance)
    cut = len(words) // 4
    solved = _pairs(words[:cut], SOLVED, chance)
    asked = _pairs(words[cut:], QUESTIONS, chance)
    first = name == "aba"
    splits = divide([_pattern(one, two, first) for one, two in asked], ("train", "select", "test"))
    return Task(
        name,
        version=1,
        description=f"complete the token pattern {'A^B^A' if first else 'A^B^B'}",
        splits=splits | {"examples": tuple(_pattern(one, two, first) for one, two in solved)},
        form=Form("icl", SHOTS),
        shots=SHOTS,
        instruction=f"Repeat the {'first' if first else 'second'} of the two words.",
        separator="\n",
        remake=partial(pattern, name),
    )


def _pairs(words: list[str], number: int, chance: random.Random) -> list[tuple[str, str]]:
    """Different unordered pairs of different words, as many as there are up to a number."""
    pairs = [(one, two) for i, one in enumerate(words) for two in words[:i]]
    drawn = chance.sample(pairs, min(number, len(pairs)))
    return [pair if chance.random() < 0.5 else pair[::-1] for pair in drawn]


def _pattern(one: str, two: str, first: bool) -> Example:
    target, other = (one, two) if first else (two, one)
    group = " ".join(sorted((one, two)))
    return Example(f"{one}^{two}^", target, (one, two), corrupted_target=other, group=group)


def induction(tokenizer: Tokenizer | None = None) -> Task:
    """A random sequence of words, then the same again up to some word: which comes next?

    In the corrupted prompt the first sequence goes on differently after that word.
    """
    chance = random.Random("induction 1")
    words = single_tokens(tokenizer, " ", chance)
    examples = [_repeat(chance.sample(words, LENGTH + 1), chance) for _ in range(QUESTIONS)]
    return Task(
        "induction",
        version=1,
        description="the next word of a random sequence that is repeated",
        splits=divide(examples),
        form=PLAIN,
        shots=2,
        instruction="Go on with the sequence of words, which repeats.",
        remake=induction,
    )


def _repeat(drawn: list[str], chance: random.Random) -> Example:
    *words, stranger = (f" {word}" for word in drawn)
    known = chance.randrange(2, LENGTH - 1)
    target = words[known]
    changed = [*words[:known], stranger, *words[known + 1 :]]
    others = chance.sample([word for word in words if word != target], 3)
    choices = [target, *others]
    chance.shuffle(choices)
    again = "".join(words[:known])
    return Example(
        "".join(words) + again,
        target,
        tuple(choices),
        corrupted="".join(changed) + again,
        corrupted_target=stranger,
    )


def single_tokens(tokenizer: Any, between: str, chance: random.Random) -> list[str]:
    """Words that are one token each, also beside `between`; without a tokenizer, common words."""
    if tokenizer is None:
        common = [word for word, _ in read_list("capitalize") + read_list("singular_plural")]
        words = sorted(set(common))
        return chance.sample(words, WORDS)
    ids = list(range(len(tokenizer)))
    chance.shuffle(ids)
    for shortest in (3, 1):  # a vocabulary of bytes has letters only
        found: list[str] = []
        for word in (str(tokenizer.decode([each])).strip() for each in ids):
            fits = word.isascii() and word.isalpha() and len(word) >= shortest
            if fits and word not in found and _is_single(tokenizer, word, between):
                found.append(word)
                if len(found) == WORDS:
                    return found
        if len(found) >= FEWEST:
            return found
    raise TaskError(
        f"the vocabulary has only {len(found)} words of one token, but a task of tokens needs "
        f"{FEWEST}."
    )


def _is_single(tokenizer: Any, word: str, between: str) -> bool:
    """Whether one more word is one more token, apart from what stands between."""

    def tokens(text: str) -> int:
        return len(tokenizer(text, add_special_tokens=False)["input_ids"])

    extra = tokens(between.join([word] * 5)) - tokens(between.join([word] * 4))
    return extra == (1 if between == " " else 1 + tokens(between))


TOKEN_TASKS: dict[str, Callable[[], Task]] = {
    "aba": partial(pattern, "aba"),
    "abb": partial(pattern, "abb"),
    "induction": induction,
}
