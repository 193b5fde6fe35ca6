"""Correlations beside the ceiling that noise sets."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.stats.ceiling import ceiling_of, split_half


def measured(truth, noise, rng):
    """Two halves, and their mean."""
    halves = tuple(truth + rng.normal(0, noise, truth.shape) for _ in range(2))
    return (halves[0] + halves[1]) / 2, halves


def test_the_split_halves_tell_the_reliability_of_the_mean():
    rng = np.random.default_rng(0)
    found = [split_half(measured(rng.normal(size=270), 1.0, rng)[1]) for _ in range(100)]
    # the mean of two halves with noise 1 has the reliability 1 / (1 + 1/2)
    assert np.mean(found) == pytest.approx(2 / 3, abs=0.03)


def test_two_of_three_tell_the_reliability_of_all_three():
    rng = np.random.default_rng(4)
    found = [split_half(measured(rng.normal(size=270), 1.0, rng)[1], 3) for _ in range(100)]
    assert np.mean(found) == pytest.approx(3 / 4, abs=0.03)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_the_noise_is_taken_out_and_the_interval_holds_the_truth(correlation):
    rng = np.random.default_rng(1)
    inside, means = 0, []
    for _ in range(40):
        x = rng.normal(size=270)
        y = correlation * x + np.sqrt(1 - correlation**2) * rng.normal(size=270)
        one, halves = measured(x, 0.8, rng)
        other, others = measured(y, 0.8, rng)
        ceiling = ceiling_of(one, other, halves, others, draws=200)
        means.append(ceiling.disattenuated)
        inside += ceiling.low <= correlation <= ceiling.high
    assert np.mean(means) == pytest.approx(correlation, abs=0.05)
    assert inside >= 32


def test_maps_of_pure_noise_have_no_ceiling():
    rng = np.random.default_rng(2)
    noise = [rng.normal(size=270) for _ in range(4)]
    ceiling = ceiling_of(
        noise[0] + noise[1], noise[2] + noise[3], (noise[0], noise[1]), (noise[2], noise[3])
    )
    assert np.isnan(ceiling.low)
    assert np.isnan(ceiling.high)


def test_heads_that_are_missing_in_a_half_are_left_out():
    rng = np.random.default_rng(3)
    one, halves = measured(rng.normal(size=50), 0.3, rng)
    halves[0][:48] = np.nan
    assert np.isnan(ceiling_of(one, one, halves, halves).disattenuated)


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_shared_errors_are_taken_out_and_the_interval_holds_the_truth(correlation):
    """Both arrays have errors that correlate at 0.5 in each half."""
    rng = np.random.default_rng(1)
    inside, crossed, naive = 0, [], []
    for _ in range(60):
        x = rng.normal(size=270)
        y = correlation * x + np.sqrt(1 - correlation**2) * rng.normal(size=270)
        errors = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], (2, 270))  # half head array
        halves, others = (
            (truth + errors[0, :, k], truth + errors[1, :, k]) for k, truth in enumerate((x, y))
        )
        arrays = np.mean(halves, axis=0), np.mean(others, axis=0)
        ceiling = ceiling_of(*arrays, halves, others, shared=True, draws=200)
        crossed.append(ceiling.disattenuated)
        naive.append(ceiling_of(*arrays, halves, others, draws=2).disattenuated)
        inside += ceiling.low <= correlation <= ceiling.high
    assert np.mean(crossed) == pytest.approx(correlation, abs=0.04)
    assert np.mean(naive) > correlation + 0.15
    assert inside >= 52
