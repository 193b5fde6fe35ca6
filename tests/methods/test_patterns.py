"""Scores of made-up attention weights, and of a head that was built to attend in one way."""

from __future__ import annotations

import math

import pytest
import torch

from headatlas.methods.patterns import mean_entropy, patterns_of
from headatlas.models.tokens import Tokens

A, B, C, D = 11, 12, 13, 14
ROW = Tokens((A, B, C, A, B, D), 5)
"""The inputs are A B C A B; the target is D."""


def to(*keys):
    """The weights of one head whose query i attends to keys[i] alone: 1 × query × key."""
    return torch.eye(len(keys))[list(keys)][None]


def scores(weights, row=ROW):
    return {name: float(own.mean_weight(weights)[0]) for name, own in patterns_of(row).items()}


def test_a_previous_token_head():
    found = scores(to(0, 0, 1, 2, 3))
    assert found["previous_token"] == 1
    assert found["induction"] == 0  # B after A at 4 looks at 3, not at 2
    assert found["first_token"] == pytest.approx(1 / 4)


def test_an_induction_head():
    # at the second A: to B, which followed the first; at the second B: to C
    found = scores(to(0, 0, 0, 1, 2))
    assert found["induction"] == 1
    assert found["duplicate_token"] == 0
    assert found["first_token"] == pytest.approx(1 / 2)
    half = 0.5 * to(0, 0, 0, 1, 2) + 0.5 * to(0, 0, 0, 0, 1)
    assert scores(half)["induction"] == pytest.approx(0.5)
    assert scores(half)["duplicate_token"] == pytest.approx(0.5)


def test_a_duplicate_token_head_counts_all_earlier_occurrences():
    row = Tokens((A, A, B, A, D), 4)
    weights = torch.tensor([[[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0.25, 0.5, 0.25, 0]]])
    assert scores(weights, row)["duplicate_token"] == pytest.approx((1 + 0.75) / 2)
    # the second A follows the first: that is the query itself, so only the last A has keys, 1 and 2
    assert scores(weights, row)["induction"] == pytest.approx(0.75)


def test_the_token_before_counts_if_it_followed_an_occurrence():
    row = Tokens((A, B, A, D), 3)
    assert scores(to(0, 0, 1), row)["induction"] == 1
    assert scores(to(0, 0, 1), row)["previous_token"] == 1


def test_attention_to_the_target_is_from_the_position_that_predicts_it():
    row = Tokens((A, B, C, B, A, B, A), 4)  # the target begins with A, at position 4
    assert scores(to(0, 1, 2, 0, 1, 1), row)["target_token"] == 1
    assert scores(to(0, 0, 0, 2, 0, 0), row)["target_token"] == 0
    assert math.isnan(scores(to(0, 0, 0, 0, 0))["target_token"])
    assert not patterns_of(ROW)["target_token"].exists


def test_even_attention_scores_what_is_said():
    even = torch.ones(5, 5).tril() / torch.arange(1, 6)[:, None]
    for name, pattern in patterns_of(ROW).items():
        if name != "target_token":
            assert pattern.even == pytest.approx(scores(even[None])[name])
    assert patterns_of(ROW)["induction"].even == pytest.approx((1 / 4 + 1 / 5) / 2)


def test_entropy():
    even = torch.ones(3, 3).tril() / torch.arange(1, 4)[:, None]
    expected = (math.log(2) + math.log(3)) / 2
    assert float(mean_entropy(even[None])) == pytest.approx(expected)
    assert float(mean_entropy(to(0, 0, 1))) == 0
    assert float(mean_entropy(0.5 * even[None])) == pytest.approx(expected)  # half in a sink
    assert math.isnan(float(mean_entropy(torch.ones(1, 1, 1))))
