"""Random heads to compare with."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.checks.controls import matched_heads
from headatlas.errors import HeadAtlasError

SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=6)
"""Heads of every layer: layers may have different numbers."""


@settings(derandomize=True, deadline=None)
@given(SHAPES, st.data(), st.integers(0, 1000))
def test_controls_never_contain_a_chosen_head(shape, data, seed):
    heads = [(layer, head) for layer, count in enumerate(shape) for head in range(count)]
    chosen = data.draw(st.lists(st.sampled_from(heads), unique=True, max_size=len(heads) // 2))
    sampled = matched_heads(chosen, heads, random.Random(seed))
    assert not set(sampled) & set(chosen)
    assert len(set(sampled)) == len(sampled) == len(chosen)
    assert set(sampled) <= set(heads)


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 4), st.data(), st.integers(0, 1000))
def test_controls_have_the_layers_of_the_chosen_heads_where_these_have_others(count, data, seed):
    heads = [(layer, head) for layer in range(5) for head in range(2 * count)]
    per_layer = [data.draw(st.integers(0, count)) for _ in range(5)]
    chosen = [(layer, head) for layer, many in enumerate(per_layer) for head in range(many)]
    sampled = matched_heads(chosen, heads, random.Random(seed))
    assert Counter(layer for layer, _ in sampled) == Counter(layer for layer, _ in chosen)


def test_draws_differ_and_the_same_seed_draws_the_same():
    heads = [(layer, head) for layer in range(4) for head in range(8)]
    chosen = heads[::5]
    draws = [matched_heads(chosen, heads, random.Random(seed)) for seed in range(10)]
    assert len({tuple(draw) for draw in draws}) > 1
    assert matched_heads(chosen, heads, random.Random(3)) == draws[3]


def test_too_few_others_are_reported():
    heads = [(0, 0), (0, 1), (0, 2)]
    with pytest.raises(HeadAtlasError, match="only 1 heads are left besides the 2 chosen ones"):
        matched_heads(heads[:2], heads, random.Random(0))
