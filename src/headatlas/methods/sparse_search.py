"""Sparse search: the few of many heads whose removal hurts most, from removals of several at once.

Random masks remove several heads together. A Lasso on the results says which heads could be behind
them; the most suspicious one is removed alone, the Lasso is fitted again, and so on. (Heads that
every evaluation removed together cannot be told apart: they are one column, and one of them is
drawn.) A mask that hurts far more than its heads do alone hides heads that stand in for each other;
these are found by putting back its heads, one at a time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from sklearn.linear_model import Lasso

from headatlas.stats.arrays import FloatArray

Evaluate = Callable[[Sequence[Sequence[int]]], FloatArray]
"""The change of every example when sets of heads are removed: set × example."""

MASKS = 0.6
"""The share of all evaluations that are random masks."""

FEWEST_TOGETHER = 5
"""Heads that a mask removes at least (a half of all heads at most)."""

PENALTY = 0.1
"""What the Lasso takes off every effect, as a share of the median change: few heads change a lot,
and the penalty must not grow with them."""


@dataclass
class SparseSearch:
    """A search among the heads 0 … `heads` − 1 with a number of evaluations.

    `removed` are the sets that were removed and `changes` what that did to every example; `alone`
    and `in_company` are the effects of heads that were measured alone, and beside other removed
    heads, per example.
    """

    heads: int
    budget: int
    evaluate: Evaluate
    seed: str
    removed: list[tuple[int, ...]] = field(default_factory=list)
    changes: list[FloatArray] = field(default_factory=list)
    alone: dict[int, FloatArray] = field(default_factory=dict)
    in_company: dict[int, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._looked_behind: set[int] = set()

    def run(self) -> None:
        """Spend all evaluations."""
        self._measure(self._masks())
        while self._left > 0:
            hiding = self._hiding_mask()
            if hiding is not None:
                self._put_back(hiding)
            elif len(self.alone) < self.heads:
                head = self._most_suspicious()
                (self.alone[head],) = self._measure([(head,)])
            else:
                return

    @property
    def _left(self) -> int:
        return self.budget - len(self.removed)

    def _measure(self, sets: Sequence[tuple[int, ...]]) -> list[FloatArray]:
        found = list(self.evaluate(sets))
        self.removed += sets
        self.changes += found
        return found

    def _masks(self) -> list[tuple[int, ...]]:
        """Random masks in balanced partitions: every head is removed equally often, or nearly."""
        number = max(1, round(self.budget * MASKS))
        size = max(-(-self.heads // number), min(FEWEST_TOGETHER, -(-self.heads // 2)))
        groups = -(-self.heads // size)
        masks: list[tuple[int, ...]] = []
        while len(masks) < number:
            order = self._rng.sample(range(self.heads), self.heads)
            masks += [tuple(sorted(order[start::groups])) for start in range(groups)]
        return masks[:number]

    def estimates(self, changes: FloatArray) -> FloatArray:
        """What the Lasso ascribes to every head, given the change in every evaluation."""
        cells = self._cells()
        design = np.zeros((len(self.removed), len(cells)))  # evaluation cell
        for row, heads in enumerate(self.removed):
            together = set(heads)
            design[row] = [cell[0] in together for cell in cells]
        usual = float(np.median(np.abs(changes)))
        ascribed = np.zeros(self.heads)
        if usual == 0:
            return ascribed
        alpha = PENALTY * usual / len(changes)
        lasso = Lasso(alpha=alpha, fit_intercept=False, max_iter=10_000)
        for cell, effect in zip(cells, lasso.fit(design, changes).coef_, strict=True):
            ascribed[list(cell)] = effect / len(cell)
        return ascribed

    def _cells(self) -> list[tuple[int, ...]]:
        """Heads that all evaluations removed together."""
        removals: list[list[int]] = [[] for _ in range(self.heads)]
        for number, heads in enumerate(self.removed):
            for head in heads:
                removals[head].append(number)
        cells: dict[tuple[int, ...], list[int]] = {}
        for head, own in enumerate(removals):
            cells.setdefault(tuple(own), []).append(head)
        return [tuple(cell) for cell in cells.values()]

    def _most_suspicious(self) -> int:
        """A head that was not measured alone, of the cell that is said to hurt most."""
        ascribed = self.estimates(self._means())
        cells = [cell for cell in self._cells() if cell[0] not in self.alone]
        cell = min(cells, key=lambda heads: float(ascribed[list(heads)].sum()))
        return self._rng.choice(cell)

    def _hiding_mask(self) -> int | None:
        """The number of the mask that hurts most beyond what its heads do alone, if there is one.

        Its heads are all measured. While others are not, the difference must be a larger loss than
        that of any head alone; then it is enough that the heads together do more than twice what
        they do alone.
        """
        means = self._means()
        known = {head: float(values.mean()) for head, values in self.alone.items()}
        worst = min([0.0, *known.values()])
        found: dict[int, float] = {}
        for number, heads in enumerate(self.removed):
            if len(heads) < 2 or number in self._looked_behind or len(heads) > self._left:
                continue
            if not all(head in known and head not in self.in_company for head in heads):
                continue
            explained = sum(known[head] for head in heads)
            enough = worst if len(known) < self.heads else min(0.0, explained)
            hidden = float(means[number]) - explained
            if hidden < enough:
                found[number] = hidden
        return min(found, key=lambda number: found[number], default=None)

    def _put_back(self, number: int) -> None:
        """Remove all heads of a mask but one, each in turn."""
        heads = self.removed[number]
        self._looked_behind.add(number)
        rest = [tuple(other for other in heads if other != head) for head in heads]
        for head, change in zip(heads, self._measure(rest), strict=True):
            self.in_company[head] = self.changes[number] - change

    def _means(self) -> FloatArray:
        return np.array([float(change.mean()) for change in self.changes])
