"""How near an answer in a model's own words comes to the reference."""

from __future__ import annotations

import re
from collections import Counter

RIGHT = 0.5
"""An answer counts as right from this F1 on."""


def first_line(text: str) -> str:
    """What a model says before it goes on to the next line, with a space before it as answers have.

    >>> first_line(" the uncle\\nQ: Who sings?")
    ' the uncle'
    """
    line = text.strip("\n").partition("\n")[0].strip()
    return f" {line}" if line else ""


def token_f1(said: str, reference: str) -> float:
    """F1 of the words of two answers, without case and punctuation; the judge that needs no model.

    >>> round(token_f1("It is the uncle.", "the uncle"), 2)
    0.67
    """
    one, other = (Counter(re.findall(r"\w+", text.casefold())) for text in (said, reference))
    common = (one & other).total()
    if not common:
        return float(one == other and said.strip() == reference.strip() != "")
    return 2 * common / (one.total() + other.total())
