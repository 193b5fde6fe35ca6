"""What the pages of results work out themselves, from stored maps and checks."""

from __future__ import annotations

from math import nan
from types import SimpleNamespace

import numpy as np
import pytest

import cognition_checks
import schedule_section
import stored
from headatlas.stats.intervals import Change
from small_things import gating_map


@pytest.mark.parametrize(
    ("low", "middle", "high", "words"),
    [
        (0.91, 0.95, 0.99, "reached"),
        (0.7, 0.8, 0.89, "not reached"),
        (0.7, 0.85, 0.95, "undecided, estimate below the goal"),
        (0.8, 0.92, 1.04, "undecided, estimate above the goal"),
        (nan, 0.98, nan, "no interval, too few seeds"),
    ],
)
def test_a_goal_is_reached_if_an_interval_shows_it(low, middle, high, words):
    assert schedule_section._reached(Change(middle, low, high), 0.9) == words


def test_maps_are_cut_to_as_many_seeds_also_where_one_diverged():
    scores = np.random.default_rng(0).random((3, 2, 3))
    whole, shorter = (gating_map(scores[:count], scores[:count]) for count in (3, 2))
    shorter.data.coords["seed"] = [0, 2]
    cut = stored.equal_seeds({"a": whole, "b": shorter})
    assert [head_map["seed"].to_numpy().tolist() for head_map in cut.values()] == [[0, 1], [0, 2]]


def test_random_heads_that_write_half_as_much_would_do_twice_the_harm():
    rows = [
        SimpleNamespace(examples=30, control=-0.2, size_ratio=0.5),
        SimpleNamespace(examples=10, control=-0.4, size_ratio=1.0),
    ]
    claim = SimpleNamespace(change=Change(-0.5, -0.8, -0.2))
    check = SimpleNamespace(masking=rows, claims={"masking": claim})
    scaled = cognition_checks._at_equal_size(check)
    assert (scaled.mean, scaled.low, scaled.high) == pytest.approx((-0.35, -0.65, -0.05))
