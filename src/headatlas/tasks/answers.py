"""Judging an answer in a model's own words: token F1 with the reference."""

from __future__ import annotations

import re
from collections import Counter

RIGHT = 0.5
"""An answer counts as right if its F1 is at least this."""


def first_line(text: str) -> str:
    """The first line of a generated text.

    >>> first_line(" the uncle\\nQ: Who sings?")
    'the uncle'
    """
    return text.strip("\n").partition("\n")[0].strip()


def token_f1(answer: str, reference: str) -> float:
    """F1 of the words of an answer and of the reference, ignoring case and punctuation.

    >>> round(token_f1("It is the uncle.", "the uncle"), 2)
    0.67
    """
    words, expected = (Counter(re.findall(r"\w+", text.casefold())) for text in (answer, reference))
    common = (words & expected).total()
    if not common:  # answers without a word, such as "+", must be equal as they stand
        return float(words == expected and answer.strip() == reference.strip() != "")
    return 2 * common / (words.total() + expected.total())
