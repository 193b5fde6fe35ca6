"""Specificity and order, on answers that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from checks.made_answers import (
    NAMES,
    answers_of,
    changes_of,
    effects_of,
    some_steps,
)
from headatlas.checks.functions.order import order, order_claim
from headatlas.checks.functions.specificity import (
    equal_count,
    pooled_specificity,
    specificity,
)
from headatlas.maps.functions import Ranked
from headatlas.tasks.functions import FUNCTIONS, HIGH_ORDER, LOW_ORDER


def test_specificity_tells_own_from_others_and_counts_functions():
    steps = some_steps(names=FUNCTIONS)
    before, masked = answers_of(steps, effects_of(-0.6, -0.1))
    table = specificity(masked, before, steps, 5)
    assert table.change[0][0].mean == pytest.approx(-0.6, abs=0.15)
    assert (table.heads, table.most, table.ranks) == (5, 8, (1,) * 8)
    assert table.p == table.p_most == 1 / math.factorial(8)
    pooled = pooled_specificity(changes_of(before, masked), steps)
    assert pooled.mean == pytest.approx(-0.5, abs=0.05)
    assert pooled.below is True


def test_functions_that_differ_by_chance_seldom_pass():
    """Effects of heads on functions are random: of the verdicts, 2.5 % may be wrong."""
    steps = some_steps(count=4, names=FUNCTIONS)
    specific, in_order = 0, 0
    for seed in range(300):
        before, masked = answers_of(steps, effects_of(-0.3, -0.3, seed), seed)
        changes = changes_of(before, masked)
        specific += pooled_specificity(changes, steps).below is True
        in_order += order_claim(order(changes, steps, 5)).holds is True
    assert specific <= 300 * 0.05
    assert in_order <= 300 * 0.05


def test_strong_heads_of_one_function_are_not_specific():
    """One function's heads harm all functions: own heads harm most for that one alone."""
    steps = some_steps(names=FUNCTIONS)
    effects = effects_of(-0.1, -0.1)
    effects["Retrieval"] = dict.fromkeys(FUNCTIONS, -3.0)
    before, masked = answers_of(steps, effects)
    table = specificity(masked, before, steps, 5)
    assert table.most == 1
    assert table.p_most == 1
    assert table.ranks[FUNCTIONS.index("Retrieval")] == 1
    assert abs(pooled_specificity(changes_of(before, masked), steps).mean) < 0.1


def order_of(low_to_high, high_to_low, fragile=0.0):
    """The order of effects; high-order steps change by `fragile` besides, whoever is masked."""
    steps, noise = some_steps(names=FUNCTIONS), np.random.default_rng(0)
    effects = {}
    for one in FUNCTIONS:
        base = low_to_high if one in LOW_ORDER else high_to_low
        effects[one] = {
            two: base + fragile * (two in HIGH_ORDER) + noise.normal(0, 0.05) for two in FUNCTIONS
        }
    before, masked = answers_of(steps, effects)
    return order(changes_of(before, masked), steps, 5)


def test_order_compares_both_ways_and_can_say_no():
    found = order_of(-1.0, -0.3)
    assert found.low_to_high.mean == pytest.approx(-1.0, abs=0.05)
    assert found.high_to_low.mean == pytest.approx(-0.3, abs=0.05)
    assert found.difference.mean == pytest.approx(-0.7, abs=0.05)
    assert found.same_steps.mean == pytest.approx(-0.7, abs=0.06)
    assert order_claim(found).holds is True
    reverse = order_claim(order_of(-0.82, -1.27))
    assert reverse.holds is False
    assert set(reverse.also) == {"low → high", "high → low", "low minus high on the same steps"}
    assert order_claim(order_of(-0.5, -0.5)).holds is None


def test_fragile_high_order_steps_are_no_order():
    found = order_of(-0.5, -0.5, fragile=-1.0)
    assert found.difference.below is True  # as if low → high harmed more
    assert found.same_steps.below is None
    assert order_claim(found).holds is None
    assert order_claim(order_of(-0.5, -0.8, fragile=-1.0)).holds is False


def test_order_needs_two_functions_of_each():
    steps = some_steps()
    before, masked = answers_of(steps, {name: dict.fromkeys(NAMES, -0.1) for name in NAMES})
    assert order(changes_of(before, masked), steps, 1) is None
    assert order_claim(None) is None


def test_functions_are_compared_with_equally_many_heads():
    heads = tuple((0, head) for head in range(30))
    ranked = {str(elbow): Ranked(heads, elbow) for elbow in (4, 25, 9)}
    assert equal_count(ranked, heads) == 9
    assert equal_count({"a": Ranked(heads, 25)}, heads) == 15
    assert equal_count({"a": Ranked(heads, 0)}, heads) == 1
