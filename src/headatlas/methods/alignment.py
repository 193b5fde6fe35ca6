"""Which position of another text belongs to a position of this one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from headatlas.models.tokens import Tokens, common_prefix

ALIGNMENTS = 1024
"""Pairs of rows whose alignment is kept: every layer of a map asks for the same again."""

Aligned = tuple[tuple[int, ...], ...]
"""For every row and every position of its input, a position of the other row's input."""


def align_at_ends(rows: Sequence[Tokens], others: Sequence[Tokens]) -> Aligned:
    """Align other rows by where their own question and target begin.

    What all rows share (demonstrations) is aligned with what all others share, end to end; what
    follows, up to the target, is aligned at the target. Where the other text is shorter, its first
    position serves.
    """
    shared, other_shared = _shared(rows), _shared(others)
    if len(set(others)) < 2:
        shared = other_shared = 0
    aligned = []
    for row, other in zip(rows, others, strict=True):
        positions = []
        for position in range(len(row) - 1):
            if position < shared:
                place = position + other_shared - shared
            else:
                place = position + other.target_start - row.target_start
            positions.append(min(max(place, 0), len(other) - 2))
        aligned.append(tuple(positions))
    return tuple(aligned)


def _shared(rows: Sequence[Tokens]) -> int:
    """Length of what all rows begin with, before the last token of any prompt."""
    return min(common_prefix([row.ids for row in rows]), min(row.target_start for row in rows) - 1)


def align_at_target(row: Tokens, other: Tokens) -> tuple[int, ...]:
    """Align two rows by where their targets begin: enough where only the ends are compared."""
    shift = other.target_start - row.target_start
    return tuple(min(max(position + shift, 0), len(other) - 2) for position in range(len(row) - 1))


@lru_cache(maxsize=ALIGNMENTS)
def align_by_tokens(row: Tokens, other: Tokens) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Align a row with a changed version of it, and list the positions of its prompt that differ.

    Tokens are aligned so that as few as possible are changed (edit distance), one by one where that
    is as good. A position that the other row lacks gets the one before it. The last tokens of both
    prompts, and what follows, belong together.

    >>> align_by_tokens(Tokens((1, 2, 3, 4, 9), 4), Tokens((1, 7, 8, 3, 4, 9), 5))
    ((0, 2, 3, 4), (1,))
    """
    mine, theirs = row.ids[: row.target_start - 1], other.ids[: other.target_start - 1]
    places = _fewest_changes(mine, theirs)
    shift = other.target_start - row.target_start
    places += [
        min(position + shift, len(other) - 2)
        for position in range(row.target_start - 1, len(row) - 1)
    ]
    changed = tuple(
        position
        for position in range(row.target_start)
        if position < len(places) and row.ids[position] != other.ids[places[position]]
    )
    return tuple(places), changed


def _fewest_changes(mine: Sequence[int], theirs: Sequence[int]) -> list[int]:
    """The place in `theirs` of every token of `mine`, in the alignment with the fewest changes."""
    start, stop, other_stop = 0, len(mine), len(theirs)
    while start < min(stop, other_stop) and mine[start] == theirs[start]:
        start += 1
    while min(stop, other_stop) > start and mine[stop - 1] == theirs[other_stop - 1]:
        stop, other_stop = stop - 1, other_stop - 1
    places = [*range(start), *[0] * (stop - start)]
    places += range(other_stop, other_stop + len(mine) - stop)
    cost = [list(range(other_stop - start + 1))]
    for i, token in enumerate(mine[start:stop], 1):
        above, line = cost[-1], [i]
        for j, other in enumerate(theirs[start:other_stop], 1):
            line.append(min(above[j - 1] + (token != other), above[j] + 1, line[j - 1] + 1))
        cost.append(line)
    i, j = stop - start, other_stop - start
    while i > 0:
        same = j > 0 and mine[start + i - 1] == theirs[start + j - 1]
        if j > 0 and cost[i][j] == cost[i - 1][j - 1] + (not same):
            i, j = i - 1, j - 1
            places[start + i] = start + j
        elif j > 0 and cost[i][j] == cost[i][j - 1] + 1:
            j -= 1
        else:
            i -= 1
            places[start + i] = max(start + j - 1, 0)
    return places
