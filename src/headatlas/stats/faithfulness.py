"""How much of what a model scores is left when only some of its heads are kept.

With y the mean measure over questions, the faithfulness of kept heads is

    f = (y(kept) − y(none)) / (y(all) − y(none)),

0 for a model without heads and 1 for the whole one. It has a meaning only if the model needs its
heads: unless y(all) − y(none) is shown to be above 0, f and all but the last score are NaN. Of the
curve f over the share k of heads:

| score | what it is | best |
|---|---|---|
| cpr | area under f, k from 0.001 to 1: circuit performance ratio | high |
| cmd | area between f and 1: circuit–model distance | 0 |
| circuit | mean of f over k ≤ 0.2: what small circuits achieve | high |
| removable | mean of 1 − f over k ≥ 0.5: what is lost without the least important half | low |
| gain | y(k = 0.98) − y(all): what removing the least important 2 % gains | high |

What is lost keeps its sign: a model that is better without some heads loses less than nothing.
(The area of |1 − f| is biased upwards where f is near 1: noise counts as distance.)

The first two have the formulas of the MIB benchmark (Mueller et al. 2025, arXiv 2504.13151), with
its nominal shares k: where a model has few heads, several small k are the same number of heads, or
none. They are over heads alone, MLPs stay as they are, so that they cannot be compared with the
benchmark's leaderboard, whose circuits are of edges between heads and MLPs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headatlas.stats.arrays import FloatArray
from headatlas.stats.ratio import linear_ratio

HIGHER_IS_BETTER = {"cpr": True, "cmd": False, "circuit": True, "removable": False, "gain": True}
"""The scores of a curve, and whether a better map has a higher one."""

IN_UNITS = ("gain",)
"""The scores that are in units of the measure; the others are shares of y(all) − y(none)."""

SMALL, LARGE, WITHOUT_WORST = 0.2, 0.5, 0.98
"""The largest share of a small circuit, the smallest of a large one, and the share that is left
when the heads that seem to do harm are gone."""


@dataclass(frozen=True)
class KeepCurve:
    """The measure of every question at the points of a curve: `kept` is point × question, `whole`
    and `empty` are those of the model with all its heads, and with none. `needs_heads`: whether
    `whole` is shown to be above `empty`."""

    shares: tuple[float, ...]
    benchmark: tuple[float, ...]
    kept: FloatArray
    whole: FloatArray
    empty: FloatArray
    needs_heads: bool

    def faithfulness(self, weights: FloatArray) -> FloatArray:
        """f at every point for weighted questions, linearised: draw × point."""
        if not self.needs_heads:
            return np.full((len(weights), len(self.shares)), np.nan)
        return linear_ratio(self.kept - self.empty, self.whole - self.empty, weights)

    def scores(self, weights: FloatArray) -> dict[str, FloatArray]:
        """Every score of the curve, for weighted questions: a number per draw."""
        f, shares = self.faithfulness(weights), np.array(self.shares)
        published = np.isin(shares, self.benchmark)
        small = published & (shares <= SMALL)
        large = shares >= LARGE
        worst = int(np.argmin(np.abs(shares - WITHOUT_WORST)))
        return {
            "cpr": _area(shares, f, published),
            "cmd": _area(shares, np.abs(1 - f), published),
            "circuit": _mean(shares, f, small),
            "removable": _mean(shares, 1 - f, large),
            "gain": weights @ (self.kept[worst] - self.whole),
        }


def _area(shares: FloatArray, values: FloatArray, chosen: FloatArray) -> FloatArray:
    """Area under some points of a curve, by trapezoids: draw."""
    return np.asarray(np.trapezoid(values[:, chosen], shares[chosen], axis=1))


def _mean(shares: FloatArray, values: FloatArray, chosen: FloatArray) -> FloatArray:
    width = shares[chosen].max() - shares[chosen].min()
    return np.asarray(_area(shares, values, chosen) / width)
