"""Intervals over seeds, prefixes, questions and random draws hold what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headatlas.stats.nested import Nested
from headatlas.stats.random_sets import draw_variance, set_variance

POOL = 72
"""Test questions of a task, from which every seed draws its own."""

PER_PREFIX = 4
LAYERS, HEADS = 8, 9


def simulated_noise(rng, seeds, prefixes, icc, shared, pool=POOL):
    """Noise of unit variance per question: `icc` of it is the prefix's, `shared` the question's."""
    of_question = rng.normal(size=pool)
    values, seed_ids, prefix_ids, names = [], [], [], []
    for seed in range(seeds):
        picked = rng.permutation(pool)[: prefixes * PER_PREFIX]
        prefix = np.repeat(np.arange(prefixes), PER_PREFIX)
        own = rng.normal(size=len(picked))
        values.append(
            math.sqrt(icc) * rng.normal(size=prefixes)[prefix]
            + math.sqrt(shared) * of_question[picked]
            + math.sqrt(1 - icc - shared) * own
        )
        seed_ids += [seed] * len(picked)
        prefix_ids += prefix.tolist()
        names += [f"q{number}" for number in picked]
    return np.concatenate(values), tuple(seed_ids), tuple(prefix_ids), tuple(names)


def coverage(simulate, count):
    hits = [change.low <= 0 <= change.high for change in (simulate() for _ in range(count))]
    return float(np.mean(hits))


CONFIGURATIONS = [
    (seeds, prefixes, icc, shared)
    for seeds, prefixes in ((1, 8), (2, 8), (3, 6), (5, 6))
    for icc, shared in ((0.0, 0.0), (0.09, 0.3), (0.36, 0.0), (0.36, 0.4))
]


@pytest.mark.parametrize(("seeds", "prefixes", "icc", "shared"), CONFIGURATIONS)
def test_the_interval_of_a_change_covers_the_truth(seeds, prefixes, icc, shared):
    """Seeds differ, and from three on the interval is for their mean, else for these ones."""
    rng = np.random.default_rng([seeds, prefixes, int(100 * icc), int(100 * shared)])

    def simulate():
        values, seed, *rest = simulated_noise(rng, seeds, prefixes, icc, shared)
        if seeds >= 3:
            values = values + 0.3 * rng.normal(size=seeds)[list(seed)]
        return Nested(values, seed, *rest).change()

    assert 0.9 <= coverage(simulate, 600) <= 0.995


@pytest.mark.parametrize("seeds", [2, 5])
def test_questions_that_all_seeds_share_are_counted_once(seeds):
    rng = np.random.default_rng(seeds)

    def simulate():
        return Nested(*simulated_noise(rng, seeds, 6, 0.0, 0.9, pool=24)).change()

    assert 0.9 <= coverage(simulate, 600) <= 0.995


def test_questions_after_one_prefix_are_not_so_many_draws():
    """Taken as independent, questions after prefixes cover far too little: the test can fail."""
    rng = np.random.default_rng(0)

    def simulate():
        values, seed, prefix, names = simulated_noise(rng, 1, 8, 0.36, 0.0)
        return Nested(values, seed, tuple(range(len(prefix))), names).change()

    assert coverage(simulate, 600) < 0.88


def simulated_sets(rng, seeds, draws, agreement, size=7, role=30):
    """Random heads of a role, of which seeds share some; controls from their layers.

    Returns own (seed × head) and controls (seed × draw × head).
    """
    layer = np.repeat(np.arange(LAYERS), HEADS)
    common = rng.permutation(LAYERS * HEADS)
    own = np.zeros((seeds, len(layer)))
    controls = np.zeros((seeds, draws, len(layer)))
    for seed in range(seeds):
        order = rng.permutation(LAYERS * HEADS)
        same = common[: round(agreement * role)]
        chosen = np.concatenate([same, order[~np.isin(order, same)]])[:role]
        toggled = chosen[:size]
        own[seed, toggled] = 1
        for draw in range(draws):
            free = rng.permutation(np.setdiff1d(np.arange(len(layer)), chosen)).tolist()
            for head in toggled:
                partner = next((f for f in free if layer[f] == layer[head]), None)
                if partner is None:
                    own[seed, head] = 0
                    continue
                free.remove(partner)
                controls[seed, draw, partner] = 1
    return own, controls


@pytest.mark.parametrize(("seeds", "draws"), [(1, 16), (2, 8), (3, 6), (5, 4)])
@pytest.mark.parametrize("agreement", [0.0, 0.5, 1.0])
def test_random_heads_are_told_apart_from_their_controls_as_rarely_as_promised(
    seeds, draws, agreement
):
    """Heads have effects of their own, and a map's heads are random: seeds may agree on them."""
    rng = np.random.default_rng([seeds, draws, int(10 * agreement)])

    def simulate():
        own, controls = simulated_sets(rng, seeds, draws, agreement)
        effect = rng.normal(size=own.shape[1]) + np.repeat(rng.normal(size=LAYERS), HEADS)
        effects = controls @ effect  # seed draw
        noise, seed, prefix, names = simulated_noise(rng, seeds, 6, 0.09, 0.2)
        values = noise + (own @ effect - effects.mean(1))[list(seed)]
        more = [set_variance(own, controls, effects)]
        return Nested(values, seed, prefix, names).change(more=more)

    assert 0.9 <= coverage(simulate, 300) <= 0.995


@pytest.mark.parametrize(("seeds", "draws"), [(1, 16), (2, 8), (3, 6), (5, 4)])
def test_the_mean_of_random_draws_is_covered(seeds, draws):
    rng = np.random.default_rng([seeds, draws])

    def simulate():
        effects = rng.normal(size=(seeds, draws))
        noise, seed, prefix, names = simulated_noise(rng, seeds, 6, 0.36, 0.2)
        values = 0.3 * noise + effects.mean(1)[list(seed)]
        return Nested(values, seed, prefix, names).change(more=[draw_variance(effects)])

    assert 0.9 <= coverage(simulate, 300) <= 0.995


def test_draws_that_are_all_alike_say_nothing():
    own = np.array([[1.0, 0, 0]])
    alike = np.array([[[0.0, 1, 0]] * 4])
    assert math.isnan(set_variance(own, alike, np.zeros((1, 4)))[0])
    assert math.isnan(set_variance(own, alike[:, :1], np.zeros((1, 1)))[0])
    values = np.arange(4.0)
    found = Nested(values, (0,) * 4, (0, 0, 1, 1), tuple("abcd")).change(more=[(math.nan, 1.0)])
    assert found.mean == 1.5
    assert math.isnan(found.low)
    assert found.below is None


def test_one_prefix_gives_no_interval():
    found = Nested(np.arange(4.0), (0,) * 4, (0,) * 4, tuple("abcd")).change()
    assert math.isnan(found.low)


def test_seeds_count_alike_and_a_higher_level_is_wider():
    values = np.array([0.0, 0, 0, 0, 1, 2])
    sample = Nested(values, (0, 0, 0, 0, 1, 1), (0, 0, 1, 1, 0, 1), tuple("abcdef"))
    assert sample.change().mean == 0.75
    assert sample.change(0.99).low < sample.change(0.95).low
