"""How many heads two sets share, and how many they would by chance."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headatlas.stats.overlap import overlap


def test_the_share_is_jaccards():
    result = overlap({1, 2, 3}, {3, 4}, 10)
    assert (result.common, result.union, result.share) == (1, 4, 0.25)


def test_the_expected_share_is_about_that_of_random_sets():
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(2000):
        one, other = (set(rng.choice(100, 20, replace=False)) for _ in range(2))
        shares.append(len(one & other) / len(one | other))
    assert overlap(range(20), range(20), 100).expected == pytest.approx(np.mean(shares), abs=0.01)


def test_empty_sets_share_nothing_that_could_be_told():
    assert math.isnan(overlap([], [], 10).share)
    assert math.isnan(overlap([], [], 10).expected)
    assert overlap([1], [], 10).share == 0
