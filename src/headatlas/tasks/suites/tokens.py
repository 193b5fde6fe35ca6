"""Tasks made of single tokens of the model's own vocabulary: `aba`, `abb` and `induction`.

The patterns are those of Yang et al. 2025 (arXiv 2502.20332); repeated random tokens as in Olsson
et al. 2022 (arXiv 2209.11895).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from headatlas.errors import TaskError
from headatlas.tasks.example import Example
from headatlas.tasks.forms import PLAIN, Form
from headatlas.tasks.splits import divide
from headatlas.tasks.suites.listed import read_list
from headatlas.tasks.task import Task

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

QUESTIONS, DEMONSTRATIONS, SHOTS = 400, 60, 4
WORDS, FEWEST = 300, 24
"""Number of words that a task is made of, and the smallest number that will do."""

LISTS = ("antonym", "capitalize", "english_french", "present_past", "singular_plural")

LENGTH = 12
"""Number of different words in a repeated sequence."""


def pattern(name: str, tokenizer: PreTrainedTokenizerBase | None = None) -> Task:
    """`aba`: "flow^Started^" → "flow"; `abb` → "Started"; after four examples of the pattern.

    The demonstrations of the corrupted prompt show the other pattern, so its answer is the other
    word.
    """
    rng = random.Random(f"{name} 1")
    words = single_tokens(tokenizer, "^", rng)
    cut = len(words) // 4
    shown_pairs = _pairs(words[:cut], DEMONSTRATIONS, rng)
    question_pairs = _pairs(words[cut:], QUESTIONS, rng)
    first = name == "aba"
    questions = [_pattern(one, two, first) for one, two in question_pairs]
    demonstrations = tuple(_pattern(one, two, first) for one, two in shown_pairs)
    return Task(
        name,
        version=1,
        description=f"complete the token pattern {'A^B^A' if first else 'A^B^B'}",
        splits=divide(questions, ("train", "select", "test")) | {"demonstrations": demonstrations},
        form=Form("icl", SHOTS),
        shots=SHOTS,
        instruction=f"Repeat the {'first' if first else 'second'} of the two words.",
        separator="\n",
        build_for_tokenizer=partial(pattern, name),
    )


def _pairs(words: list[str], number: int, rng: random.Random) -> list[tuple[str, str]]:
    """At most `number` different pairs of different words, each pair in random order."""
    pairs = [(one, two) for i, one in enumerate(words) for two in words[:i]]
    sample = rng.sample(pairs, min(number, len(pairs)))
    return [pair if rng.random() < 0.5 else pair[::-1] for pair in sample]


def _pattern(one: str, two: str, first: bool) -> Example:
    target, other = (one, two) if first else (two, one)
    group = " ".join(sorted((one, two)))
    return Example(f"{one}^{two}^", target, (one, two), corrupted_target=other, group=group)


def induction(tokenizer: PreTrainedTokenizerBase | None = None) -> Task:
    """A random sequence of words, then its beginning again: which word comes next?

    In the corrupted prompt, the first sequence has a different word at that place.
    """
    rng = random.Random("induction 1")
    words = single_tokens(tokenizer, " ", rng)
    examples = [_repeat(rng.sample(words, LENGTH + 1), rng) for _ in range(QUESTIONS)]
    return Task(
        "induction",
        version=1,
        description="the next word of a random sequence that is repeated",
        splits=divide(examples),
        form=PLAIN,
        shots=2,
        instruction="Go on with the sequence of words, which repeats.",
        build_for_tokenizer=induction,
    )


def _repeat(sampled: list[str], rng: random.Random) -> Example:
    *words, stranger = (f" {word}" for word in sampled)
    repeated = rng.randrange(2, LENGTH - 1)
    target = words[repeated]
    changed = [*words[:repeated], stranger, *words[repeated + 1 :]]
    others = rng.sample([word for word in words if word != target], 3)
    choices = [target, *others]
    rng.shuffle(choices)
    beginning = "".join(words[:repeated])
    return Example(
        "".join(words) + beginning,
        target,
        tuple(choices),
        corrupted="".join(changed) + beginning,
        corrupted_target=stranger,
    )


def single_tokens(
    tokenizer: PreTrainedTokenizerBase | None, between: str, rng: random.Random
) -> list[str]:
    """Words that are one token each, also beside `between`; without a tokenizer, common words.

    Common words in the vocabulary come first; then the vocabulary's own words, for models of
    another language; then letters, for models whose tokens are bytes.
    """
    common = sorted({word for name in LISTS for word, _ in read_list(name)})
    rng.shuffle(common)
    if tokenizer is None:
        return common[:WORDS]
    ids = list(range(len(tokenizer)))
    rng.shuffle(ids)
    with_space = between == " "
    for candidates, shortest, joined in (
        (common, 3, with_space),
        (_words(tokenizer, ids), 3, with_space),
        (_words(tokenizer, ids), 1, False),
    ):
        words: dict[str, str] = {}  # by the word in lower case: case alone makes no other word
        for word in candidates:
            is_new = len(word) >= shortest and word.lower() not in words
            if is_new and _is_single(tokenizer, word, between, joined):
                words[word.lower()] = word
                if len(words) == WORDS:
                    break
        if len(words) >= FEWEST:
            return list(words.values())
    raise TaskError(
        f"only {len(words)} words are a single token in the model's vocabulary, but this task "
        f"needs {FEWEST}: choose another task."
    )


def _words(tokenizer: PreTrainedTokenizerBase, ids: list[int]) -> Iterator[str]:
    """The tokens of a vocabulary that are words or letters."""
    for token in ids:
        word = str(tokenizer.decode([token])).strip()
        if word.isascii() and word.isalpha():
            yield word


def _is_single(tokenizer: PreTrainedTokenizerBase, word: str, between: str, joined: bool) -> bool:
    """Whether one more word adds one token (`joined`: `between` belongs to it) or its own two."""

    def tokens(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    five, four = tokens(between.join([word] * 5)), tokens(between.join([word] * 4))
    added = five[len(four) :]
    own = tokens(word)[-1:]
    return len(added) == 1 if joined else bool(own) and added == tokens(between) + own


TOKEN_TASKS: dict[str, Callable[[], Task]] = {
    "aba": partial(pattern, "aba"),
    "abb": partial(pattern, "abb"),
    "induction": induction,
}
