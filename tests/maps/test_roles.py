"""Roles, shares, overlaps: always and ever."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headatlas.errors import MapError
from headatlas.maps import Map
from headatlas.maps.published import PUBLISHED, published_shares
from headatlas.maps.roles import (
    cumulative,
    head_table,
    overlap,
    roles,
    seed_overlap,
    shares,
    unstable_heads,
)
from small_things import gating_map


def test_the_corners_are_the_roles():
    """On although pushed off; off although pushed on; where it is pushed."""
    drawn = gating_map([[[1, 0, 1, 0.6]]], [[[1, 0, 0, 0.4]]])
    assert drawn.roles().to_numpy().tolist() == [
        ["facilitating", "interfering", "irrelevant", "undecided"]
    ]


def test_always_any_and_heads_that_change_sides():
    plus = [[[1, 1, 0, np.nan]], [[1, 0, 0, np.nan]]]
    minus = [[[1, 1, 0, np.nan]], [[0, 0, 0, np.nan]]]
    drawn = gating_map(plus, minus)
    assert roles(drawn, "always").to_numpy().tolist() == [
        ["undecided", "undecided", "interfering", ""]
    ]
    assert roles(drawn, "any").to_numpy().tolist() == [["facilitating", "both", "interfering", ""]]
    assert roles(drawn, None).sel(seed=1).to_numpy().tolist() == [
        ["irrelevant", "interfering", "interfering", ""]
    ]
    assert unstable_heads(drawn) == [(0, 1, 1, 1)]
    found = shares(drawn)
    assert found["always"] == {"facilitation": 0.0, "interference": 1 / 3}
    assert found["any"] == {"facilitation": 2 / 3, "interference": 2 / 3}


@given(
    hnp.arrays(float, (3, 2, 4), elements=st.floats(0, 1)),
    hnp.arrays(float, (3, 2, 4), elements=st.floats(0, 1)),
    st.floats(0.05, 0.95),
)
def test_always_never_exceeds_any(plus, minus, threshold):
    drawn = gating_map(plus, minus)
    always, ever = drawn.aggregate("always"), drawn.aggregate("any")
    for name in ("facilitation", "interference"):
        assert (always[name] <= ever[name]).all()
        found = shares(drawn, threshold)
        assert found["always"][name] <= found["any"][name]
    held = roles(drawn, "always", threshold)
    for seed in range(3):
        one = roles(drawn, None, threshold).sel(seed=seed)
        for role in ("facilitating", "interfering"):
            everywhere = held == role
            assert np.isin(one.to_numpy()[everywhere], [role, "both"]).all()


def test_the_table_of_heads():
    drawn = gating_map([[[1, 0]], [[1, 0.2]]] * 3, [[[1, 0]], [[0.5, 0]]] * 3)
    first, second = head_table(drawn)
    assert (first["layer"], first["head"], first["role_always"]) == (0, 0, "facilitating")
    assert first["facilitation_mean"] == 0.75
    assert 0.5 <= first["facilitation_low"] < 0.75 < first["facilitation_high"] <= 1.0
    assert second["seeds_interfering"] == 6
    assert second["role_any"] == "interfering"


def test_one_seed_that_says_both_is_not_unstable_and_has_no_interval():
    drawn = gating_map([[[0.4]]], [[[0.6]]])
    assert unstable_heads(drawn) == []
    (row,) = head_table(drawn)
    assert (row["seeds_facilitating"], row["seeds_interfering"]) == (1, 1)
    assert row["facilitation_low"] == ""


def test_overlaps():
    nan = np.nan  # heads that do not exist change nothing
    one = gating_map([[[1, 1, 1, 1, nan]]], [[[1, 1, 0, 0, nan]]])["facilitation"].isel(seed=0)
    two = gating_map([[[1, 1, 1, 1, nan]]], [[[0, 1, 1, 0, nan]]])["facilitation"].isel(seed=0)
    found = overlap(one, two)
    assert (found.common, found.union) == (1, 3)
    assert found.share == pytest.approx(1 / 3)
    assert found.expected == pytest.approx(1 / 3)  # 2 · 2 / 4 in common, of 3
    drawn = gating_map([[[1, 1]]] * 3, [[[1, 0]], [[1, 0]], [[0, 1]]])
    assert seed_overlap(drawn, "facilitation") == pytest.approx(1 / 3)
    assert np.isnan(seed_overlap(drawn, "interference"))


def test_cumulative():
    values, share = cumulative(gating_map([[[1, 1, 1]]], [[[0.5, np.nan, 0.25]]])["facilitation"])
    assert values.tolist() == [0.25, 0.5]
    assert share.tolist() == [0.5, 1.0]


def test_the_published_table():
    assert len(PUBLISHED) == 24
    assert published_shares("meta-llama/Llama-3.2-3B-Instruct", "math", "always") == (18.3, 0.1)
    assert published_shares("models/Llama-3.2-1B/", "syntax:icl=1", "any") == (72.1, 57.2)
    assert published_shares("smollm2-135m", "math", "always") is None


def test_only_gating_has_roles():
    other = Map.of({"effect": (("layer", "head"), np.zeros((1, 2)))}, {"method": "ablation"})
    with pytest.raises(MapError, match="maps of gating, but this one is of ablation"):
        other.roles()
    with pytest.raises(MapError, match="the threshold of a role lies between 0 and 1, not at 2"):
        gating_map([[[1]]], [[[1]]]).roles(threshold=2)
