"""Tasks made of single tokens of the model at hand: `aba`, `abb` and `induction`.

The patterns are those of Yang et al. 2025 (arXiv 2502.20332); repeated random tokens as in Olsson
et al. 2022 (arXiv 2209.11895).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from headatlas.errors import TaskError
from headatlas.tasks.example import Example
from headatlas.tasks.forms import PLAIN, Form, Tokenizer
from headatlas.tasks.splits import divide
from headatlas.tasks.suites.listed import read_list
from headatlas.tasks.task import Task

QUESTIONS, SOLVED, SHOTS = 400, 60, 4
WORDS, FEWEST = 300, 24
"""Tokens that a task is made of, and the fewest that will do."""

LISTS = ("antonym", "capitalize", "english_french", "present_past", "singular_plural")

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
    """Words that are one token each, also beside `between`; without a tokenizer, common words.

    Common words that the vocabulary holds are taken first; then, in a vocabulary of another
    language, its own words; then letters, where tokens are bytes.
    """
    common = sorted({word for name in LISTS for word, _ in read_list(name)})
    chance.shuffle(common)
    if tokenizer is None:
        return common[:WORDS]
    ids = list(range(len(tokenizer)))
    chance.shuffle(ids)
    glued = between == " "
    for words, longer, together in (
        (common, 2, glued),
        (_words(tokenizer, ids), 2, glued),
        (_words(tokenizer, ids), 0, False),
    ):
        found: dict[str, str] = {}  # by the word in lower case: case alone makes no other word
        for word in words:
            fits = len(word) > longer and word.lower() not in found
            if fits and _is_single(tokenizer, word, between, together):
                found[word.lower()] = word
                if len(found) == WORDS:
                    break
        if len(found) >= FEWEST:
            return list(found.values())
    raise TaskError(
        f"the vocabulary has only {len(found)} words of one token, but a task of tokens needs "
        f"{FEWEST}."
    )


def _words(tokenizer: Any, ids: list[int]) -> Iterator[str]:
    """The tokens of a vocabulary that are words or letters."""
    for word in (str(tokenizer.decode([each])).strip() for each in ids):
        if word.isascii() and word.isalpha():
            yield word


def _is_single(tokenizer: Any, word: str, between: str, glued: bool) -> bool:
    """Whether one more word is one more token, with what stands between in it or apart from it."""

    def tokens(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    whole, less = tokens(between.join([word] * 5)), tokens(between.join([word] * 4))
    added = whole[len(less) :]
    own = tokens(word)[-1:]
    return len(added) == 1 if glued else bool(own) and added == tokens(between) + own


TOKEN_TASKS: dict[str, Callable[[], Task]] = {
    "aba": partial(pattern, "aba"),
    "abb": partial(pattern, "abb"),
    "induction": induction,
}
