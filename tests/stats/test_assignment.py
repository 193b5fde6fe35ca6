"""Whether the rows of a table belong to its columns."""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest

from headatlas.stats.assignment import (
    MOST,
    assignments,
    own_advantages,
    own_smallest,
    share_as_high,
    share_as_low,
)

EVEN = np.full(8, 1 / 8)


def test_all_assignments_of_few_rows_are_tried_and_the_given_one_is_first():
    assert assignments(3).tolist() == [
        [0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0],
    ]  # fmt: skip
    many = assignments(9)
    assert many.shape == (MOST, 9)
    assert many[0].tolist() == list(range(9))
    assert (np.sort(many, axis=1) == np.arange(9)).all()


def test_the_advantage_is_own_minus_the_mean_of_others():
    table = np.random.default_rng(0).normal(size=(4, 4))
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    own = [table[i, i] - np.delete(table[:, i], i).mean() for i in range(4)]
    found = own_advantages(table, weights)
    assert found[0] == pytest.approx(np.dot(own, weights))
    assert found.mean() == pytest.approx(0)
    assert len(found) == factorial(4)


def test_rows_that_belong_to_their_columns_have_a_small_p_and_strong_rows_do_not():
    belongs = -np.eye(8) + np.random.default_rng(0).normal(0, 0.1, (8, 8))
    assert share_as_low(own_advantages(belongs, EVEN)) == 1 / MOST
    assert own_smallest(belongs)[0] == 8
    assert share_as_high(own_smallest(belongs)) == 1 / MOST
    strong = np.zeros((8, 8))
    strong[3] = -1.0  # one row harms every column most
    assert own_smallest(strong).tolist() == [1] * MOST
    assert share_as_high(own_smallest(strong)) == 1
    assert share_as_low(own_advantages(strong, EVEN)) == 1
    assert own_smallest(np.zeros((8, 8)))[0] == 0  # a tie is nobody's


def test_p_values_of_random_tables_are_uniform():
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(400, 5, 5))
    found = [share_as_low(own_advantages(table, np.full(5, 0.2))) for table in tables]
    assert np.mean(np.array(found) <= 0.05) == pytest.approx(0.05, abs=0.025)
    assert np.mean(found) == pytest.approx(0.5, abs=0.05)
    counts = np.array([own_smallest(table)[0] for table in tables])
    assert counts.mean() == pytest.approx(1, abs=0.15)
