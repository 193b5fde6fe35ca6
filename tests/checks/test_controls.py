"""Random heads to compare with."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headatlas.checks.controls import NEAREST, Controls, matched_heads, overlap_correlation

SHAPES = st.lists(st.integers(1, 9), min_size=1, max_size=6)
"""Heads of every layer: layers may have different numbers."""


def heads_of(shape):
    return [(layer, head) for layer, count in enumerate(shape) for head in range(count)]


def equal_sizes(heads):
    return dict.fromkeys(heads, 1.0)


@settings(derandomize=True, deadline=None)
@given(SHAPES, st.data(), st.integers(0, 1000))
def test_controls_are_other_heads_of_the_same_layers(shape, data, seed):
    heads = heads_of(shape)
    chosen = data.draw(st.lists(st.sampled_from(heads), unique=True))
    kept, controls = matched_heads(chosen, heads, equal_sizes(heads), random.Random(seed))
    assert not set(controls) & set(chosen)
    assert len(set(controls)) == len(controls)
    assert set(controls) <= set(heads)
    assert Counter(layer for layer, _ in controls) == Counter(layer for layer, _ in kept)


@settings(derandomize=True, deadline=None)
@given(SHAPES, st.data())
def test_every_layer_keeps_as_many_of_its_first_heads_as_it_has_others(shape, data):
    heads = heads_of(shape)
    chosen = data.draw(st.lists(st.sampled_from(heads), unique=True))
    kept, _ = matched_heads(chosen, heads, equal_sizes(heads), random.Random(0))
    for layer, count in enumerate(shape):
        own = [head for head in chosen if head[0] == layer]
        assert [head for head in kept if head[0] == layer] == own[: count - len(own)]


def test_the_least_important_head_of_a_full_layer_is_left_out():
    heads = heads_of([3])
    chosen = [(0, 2), (0, 0)]
    kept, controls = matched_heads(chosen, heads, equal_sizes(heads), random.Random(0))
    assert (kept, controls) == ([(0, 2)], [(0, 1)])


def test_controls_have_outputs_of_nearly_the_same_size():
    heads = heads_of([9, 9])
    sizes = {head: 2.0 ** head[1] for head in heads}
    drawn = set()
    for seed in range(100):
        _, controls = matched_heads([(0, 7), (1, 0)], heads, sizes, random.Random(seed))
        drawn |= set(controls)
    assert drawn == {(0, 8), (0, 6), (0, 5), (0, 4), *((1, h) for h in range(1, NEAREST + 1))}


def test_draws_differ_as_far_as_the_layer_allows():
    heads = heads_of([4, 4, 4])
    some = Controls.of([(0, 0), (1, 1)], heads, equal_sizes(heads), random.Random(0), 9)
    assert len(set(map(frozenset, some.draws))) == 9  # 3 × 3 pairs
    again = Controls.of([(0, 0), (1, 1)], heads, equal_sizes(heads), random.Random(0), 9)
    assert again == some
    only = Controls.of([(0, 0), (0, 1)], heads, equal_sizes(heads), random.Random(0), 3)
    assert set(map(frozenset, only.draws)) == {frozenset({(0, 2), (0, 3)})}
    assert math.isinf(only.variance_ratio)  # nothing says how much such sets differ


@pytest.mark.parametrize(
    ("layers", "heads", "chosen"), [(6, 9, 1), (6, 9, 2), (4, 9, 4), (3, 6, 2)]
)
def test_the_variance_of_a_random_choice_is_that_of_its_draws_times_the_ratio(
    layers, heads, chosen
):
    """Heads have random effects that add up: choose at random, draw controls, compare."""
    rng = np.random.default_rng(0)
    every = heads_of([heads] * layers)
    differences, expected = [], []
    for seed in range(700):
        effect = {head: rng.normal() for head in every}
        some = [(layer, int(h)) for layer in range(layers) for h in rng.permutation(heads)[:chosen]]
        controls = Controls.of(some, every, equal_sizes(every), random.Random(seed), 16)
        draws = [sum(effect[head] for head in draw) for draw in controls.draws]
        differences.append(sum(effect[head] for head in controls.kept) - np.mean(draws))
        expected.append(controls.variance_ratio * np.var(draws, ddof=1))
    assert np.mean(expected) == pytest.approx(np.var(differences), rel=0.15)


def test_the_size_ratio_compares_mean_sizes():
    controls = Controls(((0, 0),), (), (((0, 1),), ((0, 2),)))
    assert controls.size_ratio({(0, 0): 2.0, (0, 1): 3.0, (0, 2): 1.0}) == pytest.approx(1.0)


def test_sets_are_correlated_as_far_as_they_overlap_beyond_their_layers():
    heads = heads_of([4, 4])
    same, other, apart = [(0, 0), (1, 0)], [(0, 0), (1, 1)], [(0, 2), (1, 3)]
    found = overlap_correlation([same, same, other, apart], heads)
    assert np.diag(found).tolist() == pytest.approx([1, 1, 1, 1])
    assert found[0, 1] == pytest.approx(1)
    assert found[0, 2] == pytest.approx(1 / 3)  # one of two, where chance gives a quarter of each
    assert found[0, 3] == 0


def test_a_head_without_output_is_matched_too():
    heads = [(0, 0), (0, 1), (0, 2)]
    sizes = {(0, 0): 0.0, (0, 1): 1.0, (0, 2): 0.0}
    kept, controls = matched_heads([(0, 0)], heads, sizes, random.Random(0))
    assert kept == [(0, 0)]
    assert len(controls) == 1
