"""What a model can do, in three outcomes."""

from __future__ import annotations

import math

import pytest

from headatlas.stats.ability import Ability, ability_by_accuracy, ability_by_gain


@pytest.mark.parametrize(
    ("low", "chance", "ability"),
    [
        (0.105, 0.004, Ability.CAN_DO),
        (0.1, 0.004, Ability.TOO_RARELY),
        (0.59, 0.5, Ability.TOO_RARELY),
        (0.6, 0.5, Ability.CAN_DO),
        (0.008, 0.004, Ability.TOO_RARELY),
        (0.5, 0.5, Ability.NOT_ABOVE),
        (0.12, 0.258, Ability.NOT_ABOVE),
        (math.nan, 0.5, Ability.NOT_ABOVE),
    ],
)
def test_by_accuracy(low, chance, ability):
    assert ability_by_accuracy(low, chance) is ability


@pytest.mark.parametrize(
    ("low", "ability"),
    [
        (0.25, Ability.CAN_DO),
        (0.24, Ability.TOO_RARELY),
        (0.0, Ability.NOT_ABOVE),
        (math.nan, Ability.NOT_ABOVE),
    ],
)
def test_by_gain(low, ability):
    assert ability_by_gain(low) is ability
