"""Answers under an edit compared with answers under draws of a control edit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headatlas.checks.measure import Answers
from headatlas.stats.arrays import FloatArray
from headatlas.stats.clustered import LEVEL
from headatlas.stats.intervals import Change, mean_change, welch_df


@dataclass(frozen=True)
class Compared:
    """Answers to the same steps: untouched, under an edit, and under every draw of its control.

    `clusters` groups steps that are not independent. `variance_ratio` says how much more the edit
    would differ from the controls' mean than the controls among themselves if it were a draw like
    them; by default 1 + 1 / n of n independent draws.
    """

    clusters: tuple[str, ...]
    before: Answers
    after: Answers
    controls: tuple[Answers, ...] = ()
    variance_ratio: float | None = None

    def change(self, what: str = "logprob", level: float = LEVEL) -> Change:
        """What the edit does."""
        return pooled_change([self], what, level)

    def difference(self, what: str = "logprob", level: float = LEVEL) -> Change:
        """How much more the edit does than its control."""
        return pooled_difference([self], what, level)

    def changes(self, what: str = "logprob") -> FloatArray:
        """What the edit does to every step."""
        return np.asarray(getattr(self.after, what) - getattr(self.before, what))

    def control_changes(self, what: str = "logprob") -> FloatArray:
        """What the control does to every step: draw × step."""
        before = getattr(self.before, what)
        return np.stack([getattr(draw, what) - before for draw in self.controls])

    def draw_means(self, what: str = "logprob") -> tuple[float, ...]:
        """What every draw of the control does, on average over steps."""
        return tuple(self.control_changes(what).mean(1).tolist())

    def null_variance(self, what: str) -> float:
        """Variance of the difference from the control if the edit were a draw like them."""
        draws = len(self.controls)
        if draws < 2:
            return math.nan
        ratio = 1 + 1 / draws if self.variance_ratio is None else self.variance_ratio
        between = float(np.var(self.draw_means(what), ddof=1))
        return ratio * between if math.isfinite(ratio) else math.nan


def pooled_change(
    compared: Sequence[Compared], what: str = "logprob", level: float = LEVEL
) -> Change:
    """Over the steps of all: what their edits do."""
    values = np.concatenate([comparison.changes(what) for comparison in compared])
    return mean_change(values, _clusters(compared), bounded=what == "exact", level=level)


def pooled_difference(
    compared: Sequence[Compared],
    what: str = "logprob",
    level: float = LEVEL,
    correlation: FloatArray | None = None,
) -> Change:
    """Over the steps of all: how much more their edits do than the controls.

    The interval asks whether the edits could be draws like their controls. It has the variance over
    clusters, and the larger one of two more, each with Welch's degrees of freedom: that between the
    draws of the controls, and that between the differences of all. The second is larger where few
    edits do nearly everything: a few heads matter very much, and a control never has those that are
    chosen. `correlation` is that of the edits of every two (such as heads that functions share).
    """
    values = [
        comparison.changes(what) - comparison.control_changes(what).mean(0)
        for comparison in compared
    ]
    shares = np.array([len(some) for some in values]) / sum(len(some) for some in values)
    parts = _draw_variances(compared, shares, what, correlation)
    dfs = [len(comparison.controls) - 1 for comparison in compared]
    variance, df = float(parts.sum()), welch_df(list(zip(parts, dfs, strict=True)))
    if len(compared) > 1:
        between = float(np.var([some.mean() for some in values], ddof=1) * np.sum(shares**2))
        if between > variance:
            variance, df = between, len(compared) - 1
    return mean_change(
        np.concatenate(values),
        _clusters(compared),
        math.sqrt(variance),
        df,
        bounded=what == "exact",
        level=level,
    )


def _draw_variances(
    compared: Sequence[Compared], shares: FloatArray, what: str, correlation: FloatArray | None
) -> FloatArray:
    """What the draws of every control add to the variance of the pooled difference."""
    errors = shares * np.sqrt([comparison.null_variance(what) for comparison in compared])
    related = np.eye(len(compared)) if correlation is None else correlation
    return np.asarray(errors * (related @ errors))


def _clusters(compared: Sequence[Compared]) -> list[str]:
    return [cluster for comparison in compared for cluster in comparison.clusters]
