"""Roles, shares, overlaps: always and any."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headatlas.errors import MapError
from headatlas.maps.published import PUBLISHED
from headatlas.maps.roles import (
    cumulative,
    independent_shares,
    role_overlap,
    roles,
    rule_overlap,
    seed_overlap,
    shares,
    unstable_heads,
)
from maps.made_maps import effects
from small_things import gating_map


def test_the_corners_are_the_roles():
    """On although pushed off; off although pushed on; where it is pushed."""
    gates = gating_map([[[1, 0, 1, 0.6]]], [[[1, 0, 0, 0.4]]])
    assert gates.roles().to_numpy().tolist() == [
        ["facilitating", "interfering", "irrelevant", "no role"]
    ]


def test_always_any_and_heads_that_change_sides():
    plus = [[[1, 1, 0, np.nan]], [[1, 0, 0, np.nan]]]
    minus = [[[1, 1, 0, np.nan]], [[0, 0, 0, np.nan]]]
    gates = gating_map(plus, minus)
    assert roles(gates, "always").to_numpy().tolist() == [["no role", "no role", "interfering", ""]]
    assert roles(gates, "any").to_numpy().tolist() == [["facilitating", "both", "interfering", ""]]
    assert roles(gates, None).sel(seed=1).to_numpy().tolist() == [
        ["irrelevant", "interfering", "interfering", ""]
    ]
    assert unstable_heads(gates) == [(0, 1, 1, 1)]
    table = shares(gates)
    assert table["always"] == {"facilitation": 0.0, "interference": 1 / 3}
    assert table["any"] == {"facilitation": 2 / 3, "interference": 2 / 3}


@settings(derandomize=True, deadline=None, max_examples=50)
@given(
    hnp.arrays(float, (3, 2, 4), elements=st.floats(0, 1)),
    hnp.arrays(float, (3, 2, 4), elements=st.floats(0, 1)),
    st.floats(0.05, 0.95),
)
def test_always_never_exceeds_any(plus, minus, threshold):
    gates = gating_map(plus, minus)
    always, ever = gates.aggregate("always"), gates.aggregate("any")
    for name in ("facilitation", "interference"):
        assert (always[name] <= ever[name]).all()
        table = shares(gates, threshold)
        assert table["always"][name] <= table["any"][name]
    held = roles(gates, "always", threshold)
    for seed in range(3):
        one = roles(gates, None, threshold).sel(seed=seed)
        for role in ("facilitating", "interfering"):
            everywhere = held == role
            assert np.isin(one.to_numpy()[everywhere], [role, "both"]).all()


def test_one_seed_that_says_both_is_not_unstable():
    assert unstable_heads(gating_map([[[0.4]]], [[[0.6]]])) == []


def test_overlaps():
    nan = np.nan  # heads that do not exist change nothing
    one = gating_map([[[1, 1, 1, 1, nan]]], [[[1, 1, 0, 0, nan]]])["facilitation"].isel(seed=0)
    two = gating_map([[[1, 1, 1, 1, nan]]], [[[0, 1, 1, 0, nan]]])["facilitation"].isel(seed=0)
    common = role_overlap(one, two)
    assert (common.common, common.union) == (1, 3)
    assert common.share == pytest.approx(1 / 3)
    assert common.expected == pytest.approx(1 / 3)  # 2 · 2 / 4 in common, of 3
    gates = gating_map([[[1, 1]]] * 3, [[[1, 0]], [[1, 0]], [[0, 1]]])
    assert seed_overlap(gates, "facilitation") == pytest.approx((1 / 3, 1 / 3))
    assert np.isnan(seed_overlap(gates, "interference")).all()
    with pytest.raises(MapError, match="the maps are of different models: 5 and 4 heads"):
        role_overlap(one, two.isel(head=slice(0, 4)))


def test_chance_overlap_is_of_sets_with_as_many_heads_in_every_layer():
    """Random maps of one layer profile overlap as chance says; over all heads it would say less."""
    rng = np.random.default_rng(0)
    often = np.linspace(0.05, 0.9, 30)[:, None]
    on = (rng.random((24, 30, 9)) < often).astype(float)
    gates = gating_map(np.ones_like(on), on)
    found = seed_overlap(gates, "facilitation")
    assert found.share == pytest.approx(found.expected, abs=0.01)
    density = on.mean()
    overall = density**2 / (2 * density - density**2)
    assert found.share > overall + 0.05
    same = seed_overlap(gating_map(np.ones((2, 30, 9)), on[[0, 0]]), "facilitation")
    assert same.share == 1 > same.expected + 0.3


def test_cumulative():
    values, share = cumulative(gating_map([[[1, 1, 1]]], [[[0.5, np.nan, 0.25]]])["facilitation"])
    assert values.tolist() == [0.25, 0.5]
    assert share.tolist() == [0.5, 1.0]


def test_the_published_table():
    assert len(PUBLISHED) == 24
    assert PUBLISHED["Llama-3.2-3B-Instruct", "math", "always"] == (18.3, 0.1)
    assert PUBLISHED["Llama-3.2-1B", "syntax", "any"] == (72.1, 57.2)


def test_only_gating_has_roles():
    with pytest.raises(
        MapError, match="roles are read from gating maps; this is of the method 'ablation'"
    ):
        effects(np.zeros((1, 1, 2))).roles()
    with pytest.raises(MapError, match="the threshold must be between 0 and 1, not 2"):
        gating_map([[[1]]], [[[1]]]).roles(threshold=2)


def test_halves_of_the_seeds_share_what_holds_always_and_in_any():
    rng = np.random.default_rng(0)
    same = np.repeat(rng.random((1, 6, 8)), 4, axis=0)
    alike = gating_map(same, same)
    for rule in ("always", "any"):
        assert rule_overlap(alike, "facilitation", rule).share == 1
    apart = gating_map(*rng.random((2, 4, 60, 80)))
    for rule, share in (("always", 1 / 7), ("any", 9 / 15)):  # a quarter of heads; three quarters
        found = rule_overlap(apart, "facilitation", rule)
        assert found.share == pytest.approx(share, abs=0.03)
        assert found.expected == pytest.approx(share, abs=0.03)
    assert np.isnan(rule_overlap(alike.sel(seed=[0]), "facilitation", "any").share)


def test_shares_of_seeds_that_have_nothing_in_common():
    rng = np.random.default_rng(1)
    apart = gating_map(*rng.random((2, 3, 60, 80)))
    found, known = independent_shares(apart), shares(apart)
    for rule, share in (("always", 1 / 8), ("any", 7 / 8)):
        for name in ("facilitation", "interference"):
            assert found[rule][name] == pytest.approx(share, abs=0.02)
            assert known[rule][name] == pytest.approx(found[rule][name], abs=0.02)
