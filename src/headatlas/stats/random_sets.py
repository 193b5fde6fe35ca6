"""How far chosen sets of heads would lie from matched random ones if they were random too."""

from __future__ import annotations

import math

import numpy as np

from headatlas.stats.arrays import FloatArray
from headatlas.stats.intervals import Variance
from headatlas.stats.nested import MIN_SEEDS


def set_variance(own: FloatArray, controls: FloatArray, effects: FloatArray) -> Variance:
    """The variance of (own − mean of controls) that comes from which heads happen to be chosen.

    `own` is seed × head and `controls` seed × draw × head, 1 where a head is toggled; `effects`
    (seed × draw) is what toggling the heads of a draw does. Were the chosen heads random, every
    head would have a random effect of variance σ², and seed s would differ from its controls by
    Σ_i w_si · effect_i, with w_s = own heads − mean of its draws. σ² follows from how much the
    draws of a seed differ in effect and in heads. The mean over seeds then has the variance
    σ² · |mean_s w_s|²: large where seeds agree on their heads, or where draws have few heads to
    choose from. The spread between three or more seeds contains all of it but the part that the
    seeds share, σ² · mean over pairs of seeds of w_s · w_s': only that is returned for them.

    NaN where all draws of every seed toggle the same heads: then nothing is known.
    """
    seeds, draws = effects.shape
    df = float(seeds * (draws - 1))
    if df < 1:
        return math.nan, 1.0
    heads_apart = float(controls.var(1, ddof=1).sum())
    if heads_apart == 0:
        return math.nan, 1.0
    per_head = float(effects.var(1, ddof=1).sum()) / heads_apart
    weights = own - controls.mean(1)  # seed head
    products = weights @ weights.T
    if seeds < MIN_SEEDS:
        return per_head * float(products.mean()), df
    pairs = (products.sum() - np.trace(products)) / (seeds * (seeds - 1))
    return per_head * max(0.0, float(pairs)), df


def draw_variance(effects: FloatArray) -> Variance:
    """The variance of the mean effect of random draws (seed × draw) that comes from the draws.

    The spread between three or more seeds contains it already.
    """
    seeds, draws = effects.shape
    if seeds >= MIN_SEEDS:
        return 0.0, 1.0
    if draws < 2:
        return math.nan, 1.0
    return float(effects.var(1, ddof=1).sum()) / draws / seeds**2, float(seeds * (draws - 1))
