"""Do the rows of a square table belong to its columns, more than any other rows would?

Row A holds what set A does to every column; on the diagonal stand the sets that are said to belong
to the columns. If the names of the sets meant nothing, every assignment of sets to columns would be
as good as the given one.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations
from math import factorial
from typing import Any

import numpy as np

from headatlas.stats.arrays import FloatArray

MOST = factorial(8)
"""Number of assignments that are tried: all of eight rows, a random sample of more."""


@cache
def assignments(rows: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Assignments of rows to columns (assignment × column), the given one first."""
    if factorial(rows) <= MOST:
        return np.array(list(permutations(range(rows))))
    rng = np.random.default_rng(seed)
    sample = rng.permuted(np.tile(np.arange(rows), (MOST - 1, 1)), axis=1)
    return np.concatenate([np.arange(rows)[None], sample])


def own_advantages(table: FloatArray, weights: FloatArray) -> FloatArray:
    """How far assigned rows lie from the mean of all others, for every assignment.

    Columns count by their weights, which sum to 1. The first number is that of the given
    assignment; over all assignments the mean is 0.
    """
    rows = len(table)
    centred = (table - table.mean(0)) * rows / (rows - 1)
    advantages = centred[assignments(rows), np.arange(rows)] @ weights
    return np.asarray(advantages)


def own_smallest(table: FloatArray) -> FloatArray:
    """In how many columns the assigned row alone has the smallest number, for every assignment."""
    alone = (table == table.min(0)).sum(0) == 1
    smallest = assignments(len(table)) == table.argmin(0)  # assignment column
    return np.asarray((smallest & alone).sum(1))


def share_as_low(values: FloatArray) -> float:
    """P-value: share of assignments with a number as low as the given one, itself included."""
    return float(np.mean(values <= values[0] + 1e-12))


def share_as_high(values: FloatArray) -> float:
    """P-value: share of assignments with a number as high as the given one, itself included."""
    return share_as_low(-values)
