"""Every further look at a map counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headatlas.checks.kinds import CHECKS
from headatlas.checks.results import About
from headatlas.maps import Map
from headatlas.runs.looks import Looks
from headatlas.runs.store import Store
from small_things import gating_map


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path)
    store.open()
    return store


def looks_of(store, value=0.5, check="gating", stored=None, task="t"):
    values = np.full((1, 2, 2), value)
    head_map = gating_map(values, values)
    named = Map(head_map.data, {**head_map.provenance, "task": task})
    return Looks(store, named, CHECKS[check], stored)


def test_looks_with_other_numbers_of_questions_are_counted(store):
    for number, questions in enumerate((64, 32, 128), 1):
        assert looks_of(store).number(questions) == number
        assert looks_of(store).number(questions) == number  # not finished: nothing was seen
        looks_of(store).add(questions)
        assert looks_of(store).number(questions) == number  # the same look again
    assert looks_of(store).number(64) == 1


def test_other_maps_and_other_checks_have_their_own_looks(store):
    looks_of(store).add(64)
    assert looks_of(store).number(65) == 2
    assert looks_of(store, task="other").number(65) == 1
    assert looks_of(store, check="functions").number(65) == 1


def test_other_options_measure_something_else(store):
    values = np.full((1, 2, 2), 0.5)
    head_map = gating_map(values, values)
    check = CHECKS["faithfulness"]
    Looks(store, head_map, check).add(24)
    other = check.with_options(replacement="zero")
    assert Looks(store, head_map, other).number(24) == 1
    Looks(store, head_map, other).add(24)
    assert Looks(store, head_map, other).number(48) == 2
    assert Looks(store, head_map, check.with_options(replacement="mean")).number(48) == 2


def test_the_order_of_options_changes_no_name():
    check = CHECKS["faithfulness"]
    one = check.with_options(replacement="zero", measure="accuracy")
    assert one.suffix == check.with_options(measure="accuracy", replacement="zero").suffix
    assert one.suffix == ".faithfulness-zero-accuracy"


def test_a_map_that_has_grown_is_looked_at_again(store):
    looks_of(store).add(64)
    assert looks_of(store, value=0.6).number(64) == 2
    assert looks_of(store).number(64) == 1


def test_a_check_with_other_rules_looks_again(store):
    looks_of(store).add(64)
    values = np.full((1, 2, 2), 0.5)
    head_map = gating_map(values, values)
    named = Map(head_map.data, {**head_map.provenance, "task": "t"})
    newer = replace(CHECKS["gating"], version=CHECKS["gating"].version + 1)
    assert Looks(store, named, newer).number(64) == 2


def test_a_stored_result_remembers_its_look_where_the_units_are_gone(store):
    about = About("map", "hash", "model", "task", 64, look=2)
    assert looks_of(store, stored=about).number(128) == 3


def test_all_looks_together_err_rarely():
    levels = [About("map", "hash", "model", "task", 64, look=look).level for look in range(1, 9)]
    assert levels[:3] == pytest.approx([0.95, 0.99, 0.998])
    assert sum(1 - level for level in levels) < 0.0625
