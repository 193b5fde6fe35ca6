"""Which tokens of an answer are read."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from headatlas.methods.encoding import encode_fitting
from headatlas.tasks import Task

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.tokens import Tokens

CHOICES = ("first", "last", "content", "all")
"""Which tokens of an answer can be read."""

MAX_CONTENT = 5


def positions_read(model: Model, task: Task, row: Tokens, tokens: str) -> list[int]:
    """Which tokens of a row are read, as positions in it: one of `CHOICES`."""
    answer = range(row.target_start, len(row))
    if tokens == "first":
        return [answer[0]]
    if tokens == "last":
        return [answer[-1]]
    if tokens == "all":
        return list(answer)
    counts = _frequencies(model, task)
    telling = [i for i in answer if _is_word(model, row.ids[i])] or list(answer)
    return sorted(sorted(telling, key=lambda i: counts[row.ids[i]])[:MAX_CONTENT])


def _is_word(model: Model, token: int) -> bool:
    """Whether a token has a letter or digit."""
    assert model.tokenizer is not None
    return any(letter.isalnum() for letter in str(model.tokenizer.decode([token])))


_COUNTS: WeakKeyDictionary[Model, dict[str, Counter[int]]] = WeakKeyDictionary()


def _frequencies(model: Model, task: Task) -> Counter[int]:
    """How often every token occurs in the training questions; counted once per model and task."""
    known = _COUNTS.setdefault(model, {})
    if task.hash not in known:
        _, rows = encode_fitting(model, task.prompts("train"))
        known[task.hash] = Counter(token for row in rows for token in row.ids)
    return known[task.hash]
