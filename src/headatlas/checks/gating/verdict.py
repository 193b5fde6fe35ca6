"""What toggling says about a score: it holds, it does not, or it is inconclusive."""

from __future__ import annotations

import numpy as np

from headatlas.checks.results.gating import Curve
from headatlas.checks.results.verdict import all_of
from headatlas.stats.intervals import Change

MAX_HARMLESS_DRAWS = 0.05
"""The share of random draws, at most, that may be harmless where irrelevance is to mean anything.
"""


MIN_HARMLESS_SEEDS = 0.9
"""The share of seeds, at least, that must each be harmless by themselves."""


def verdict(curve: Curve, bound: float) -> bool | None:
    """Whether a curve is as its score predicts; `None` if it is inconclusive.

    Facilitation: below the controls, and below 0. Interference: above both. Irrelevance: within the
    harmless bound (nats, up or down), also in nearly every seed by itself, where random heads are
    not: if more than one draw in 20 is harmless too, random heads would often pass. Without a
    positive bound (a model that knows no more of targets than of others) nothing can be told.

    Controls have none of the chosen heads. Where a few heads matter very much, a random choice that
    holds one of them is therefore called facilitating more often than the level says.
    """
    own, difference = curve.own, curve.difference
    if curve.score == "facilitation":
        return all_of(difference.below, own.below)
    if curve.score == "interference":
        return all_of(difference.above, own.above)
    if bound <= 0:
        return None
    if not (harmless := is_within(own, bound)):
        return harmless
    seeds = curve.seeds_within(bound) >= MIN_HARMLESS_SEEDS * curve.seeds
    return True if seeds and not _random_heads_are_harmless(curve, bound) else None


def _random_heads_are_harmless(curve: Curve, bound: float) -> bool:
    draws = np.array([draw[curve.verdict_at] for draw in curve.controls])
    return bool(np.mean(np.abs(draws) <= bound) > MAX_HARMLESS_DRAWS) or bool(
        is_within(curve.control, bound)
    )


def is_within(change: Change, bound: float) -> bool | None:
    """Whether the whole interval lies between −bound and bound; `False` if none of it does.

    >>> [is_within(Change(0.1, -0.1, high), 0.25) for high in (0.2, 0.3)]
    [True, None]
    """
    if -bound <= change.low and change.high <= bound:
        return True
    return False if change.low > bound or change.high < -bound else None
