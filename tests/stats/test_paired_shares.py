"""Paired shares: intervals that cover what they should, over questions, prefixes and seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headatlas.stats.intervals import clustered_share_interval, share_interval
from headatlas.stats.paired_shares import PairedShares, paired_shares, seeds_share_interval


def test_newcombes_example():
    """Independent shares 56/70 and 48/80: 0.2 with the interval 0.0524 to 0.3339 (Newcombe 1998,
    statistics in medicine 17, p. 873, case a, method 10)."""
    shares = PairedShares(
        48 / 80, 56 / 70, share_interval(48 / 80, 80), share_interval(56 / 70, 70)
    )
    found = shares.compare(1.0)
    assert found.mean == pytest.approx(0.2)
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_pairing_narrows_the_interval():
    generator = np.random.default_rng(0)
    before = (generator.random(64) < 0.7).astype(float)
    clusters = [str(i) for i in range(64)]
    same = paired_shares(before, before[None], clusters)
    assert same.correlation == pytest.approx(1.0)
    opposite = paired_shares(before, 1 - before[None], clusters)
    assert opposite.correlation == pytest.approx(-1.0)
    width = [pair.compare(0.6).high - pair.compare(0.6).low for pair in (same, opposite)]
    assert width[0] < 0.5 * width[1]


def test_nothing_right_is_no_proof_of_nothing():
    clusters = [str(i // 2) for i in range(64)]
    found = paired_shares(np.ones(64), np.zeros((3, 64)), clusters)
    assert found.after_interval == share_interval(0.0, 32)
    assert found.correlation == 0.0
    assert found.compare(0.2).below
    rarely = (np.arange(64) < 16).astype(float)
    assert paired_shares(rarely, np.zeros((3, 64)), clusters).compare(0.2).below is None


def test_one_seed_has_the_interval_over_questions():
    right = (np.random.default_rng(1).random((1, 40)) < 0.5).astype(float)
    clusters = [str(i // 2) for i in range(40)]
    assert seeds_share_interval(right, clusters) == clustered_share_interval(right[0], clusters)


def test_seeds_that_differ_widen_the_interval():
    clusters = [str(i) for i in range(64)]
    half = np.arange(64) % 2.0
    alike = seeds_share_interval(np.stack([half, half, half]), clusters)
    apart = seeds_share_interval(np.stack([np.ones(64), half, np.zeros(64)]), clusters)
    assert alike[1] - alike[0] < 0.3
    assert apart[1] - apart[0] > 0.8


def draw(generator, number, seeds, means, spread):
    """Answers to questions that differ in difficulty, by pairs after one prefix, by seed.

    `means` are the logits of before and after; `spread` the standard deviations of questions,
    prefixes and seeds. Questions and prefixes are equally hard before and after.
    """
    question, prefix, seed = spread
    hard = generator.normal(0, question, number)
    hard = hard + np.repeat(generator.normal(0, prefix, number // 2), 2)
    levels = generator.normal(0, seed, (seeds, 1))

    def right(logit):
        return (generator.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(float)

    return right(means[0] + hard), right(means[1] + hard + levels)


@pytest.mark.parametrize(
    ("means", "spread", "factor"),
    [
        ((2.0, 0.0), (1.0, 0.5, 0.0), 0.6),
        ((2.0, 0.5), (1.0, 0.5, 0.7), 0.6),
        ((2.0, -2.5), (1.0, 0.5, 0.3), 0.2),
        ((0.5, -4.5), (0.5, 1.0, 0.3), 0.2),
        ((3.5, 3.0), (0.5, 0.5, 0.5), 0.6),
    ],
)
def test_intervals_cover_the_truth(means, spread, factor):
    """At least 93 of 100 intervals contain the difference that very many questions and seeds give.

    Conservative where seeds do not differ, since their variance is then counted twice.
    """
    generator = np.random.default_rng(3)
    before, after = draw(generator, 400_000, 1, means, (*spread[:2], 0.0))
    levels = generator.normal(0, spread[2], 400_000)
    hard = generator.normal(0, math.hypot(*spread[:2]), 400_000)
    truth = np.mean(1 / (1 + np.exp(-(means[1] + hard + levels)))) - factor * before.mean()
    clusters = [str(i // 2) for i in range(64)]
    inside = 0
    for _ in range(500):
        before, after = draw(generator, 64, 3, means, spread)
        found = paired_shares(before, after, clusters).compare(factor)
        inside += found.low <= truth <= found.high
    assert inside >= 0.93 * 500
    assert inside < 500
