"""Which position of another text belongs to a position of this one."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from headatlas.models.tokens import Tokens, common_prefix

Aligned = tuple[tuple[int, ...], ...]
"""For every row and every position of its input, a position of the other row's input."""


def align_at_ends(rows: Sequence[Tokens], others: Sequence[Tokens]) -> Aligned:
    """Align other rows by where their own question and target begin.

    What all rows share (demonstrations) is aligned with what all others share, end to end; what
    follows, up to the target, is aligned at the target. Where the other text is shorter, its first
    position serves.
    """
    shared, other_shared = (common_prefix([row.ids for row in texts]) for texts in (rows, others))
    aligned = []
    for row, other in zip(rows, others, strict=True):
        last = len(other) - 2
        positions = []
        for position in range(len(row) - 1):
            if position < shared:
                place = max(position + other_shared - shared, 0)
            else:
                place = max(position + other.target_start - row.target_start, 0)
            positions.append(min(place, last))
        aligned.append(tuple(positions))
    return tuple(aligned)


def align_by_tokens(row: Tokens, other: Tokens) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Align a row with a changed version of it, and list the positions where they differ.

    Tokens that both have are aligned with each other; a stretch that was changed is aligned at its
    end. A position that the other row lacks gets the one before it.

    >>> align_by_tokens(Tokens((1, 2, 3, 4, 9), 4), Tokens((1, 7, 8, 3, 4, 9), 5))
    ((0, 2, 3, 4), (1,))
    """
    mine, theirs = row.ids[:-1], other.ids[:-1]
    places = [0] * len(mine)
    changed = []
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    for kind, start, stop, other_start, other_stop in matcher.get_opcodes():
        for position in range(start, stop):
            if kind == "equal":
                places[position] = other_start + position - start
            else:
                from_end = other_stop - (stop - position)
                places[position] = max(from_end, min(other_start, len(theirs) - 1), 0)
                changed.append(position)
    return tuple(min(place, len(theirs) - 1) for place in places), tuple(changed)
