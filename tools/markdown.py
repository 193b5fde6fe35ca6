"""Paragraphs and tables of the pages that tools write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill


def text(words: str, first: str = "") -> str:
    """A paragraph."""
    return fill(
        words, 100, initial_indent=first, subsequent_indent=" " * len(first),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
