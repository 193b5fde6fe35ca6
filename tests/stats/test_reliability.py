"""Reliability: halves, Spearman–Brown, kappa."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headatlas.stats.reliability import (
    MOST_DIVISIONS,
    disattenuated,
    divisions,
    fleiss_kappa,
    reproduced,
    spearman_brown,
    without_noise,
)


def measurements(count: int, heads: int, reliability: float, seed: int) -> np.ndarray:
    """Measurements that correlate at `reliability` with each other."""
    rng = np.random.default_rng(seed)
    truth = np.sqrt(reliability) * rng.normal(size=heads)
    return truth + np.sqrt(1 - reliability) * rng.normal(size=(count, heads))


@pytest.mark.parametrize("count", [2, 3, 4, 7, 10])
def test_the_reliability_of_a_mean_is_its_squared_correlation_with_the_truth(count):
    """The definition, by simulation: the measurements' mean against other measurements' mean."""
    found, true = [], []
    for seed in range(40):
        values = measurements(2 * count, 400, 0.4, seed)
        found.append(reproduced(values[:count], draws=2).mean_map)
        true.append(np.corrcoef(values[:count].mean(0), values[count:].mean(0))[0, 1])
    assert np.mean(found) == pytest.approx(np.mean(true), abs=0.03)


def test_one_measurement_is_as_reliable_as_two_correlate():
    values = measurements(6, 5000, 0.3, 0)
    assert reproduced(values, draws=2).one == pytest.approx(0.3, abs=0.04)


def test_the_interval_covers_the_reliability():
    hits = 0
    for seed in range(60):
        found = reproduced(measurements(4, 200, 0.5, seed), draws=100)
        hits += found.low <= spearman_brown(0.5, 4) <= found.high
    assert hits >= 52


def test_noise_has_no_reliability_and_one_measurement_none_that_is_known():
    assert (
        abs(
            np.mean([reproduced(measurements(4, 300, 0.0, s), draws=2).mean_map for s in range(30)])
        )
        < 0.1
    )
    assert np.isnan(reproduced(measurements(1, 50, 0.5, 0)).mean_map)


@pytest.mark.parametrize("count", [2, 5, 10, 11, 20, 40])
def test_every_two_measurements_are_set_against_each_other(count):
    one, other = divisions(count)
    assert len(one) <= MOST_DIVISIONS
    assert (one.sum(1) == count // 2).all()
    assert (other.sum(1) == count // 2).all()
    assert not (one * other).any()
    apart = one.T @ other + other.T @ one
    assert (apart[~np.eye(count, dtype=bool)] > 0).all()


def test_noise_taken_out_of_a_correlation():
    values = measurements(20, 4000, 0.5, 1)
    one, other = values[:4], values[4:8]
    seen = np.corrcoef(one.mean(0), other.mean(0))[0, 1]
    reliabilities = [reproduced(each, draws=2).mean_map for each in (one, other)]
    assert disattenuated(seen, *reliabilities) == pytest.approx(1, abs=0.05)
    assert np.isnan(disattenuated(0.3, -0.1, 0.5))


def test_two_mean_maps_of_the_same_truth_agree_once_noise_is_taken_out():
    hits = 0
    for seed in range(40):
        values = measurements(8, 300, 0.4, seed)
        found = without_noise(values[:4], values[4:], draws=60)
        hits += found.low <= 1 <= found.high
    assert hits >= 33
    apart = without_noise(measurements(4, 300, 0.4, 1), measurements(4, 300, 0.4, 2))
    assert apart.high < 0.5


def test_the_interval_holds_where_measurements_fall_into_groups():
    """Seeds that end in one of three circuits: an interval over heads alone would often miss."""
    hits, rng = 0, np.random.default_rng(0)
    for _ in range(30):
        circuits = np.sqrt(0.6) * rng.normal(size=270) + np.sqrt(0.4) * rng.normal(size=(3, 270))
        own = rng.normal(size=270) * circuits.mean(0).std()
        changed = 0.85 * circuits + np.sqrt(1 - 0.85**2) * own
        truth = np.corrcoef(circuits.mean(0), changed.mean(0))[0, 1]
        one = circuits[rng.integers(0, 3, 6)] + 0.8 * rng.normal(size=(6, 270))
        other = changed[rng.integers(0, 3, 4)] + 0.8 * rng.normal(size=(4, 270))
        found = without_noise(one, other, draws=40)
        hits += found.low <= truth <= found.high
    assert hits >= 26


def test_kappa_is_one_for_agreement_and_zero_for_chance():
    words = np.array(["a", "b", "c"])
    same = np.tile(words[np.arange(30) % 3], (4, 1))
    assert fleiss_kappa(same).kappa == pytest.approx(1)
    assert fleiss_kappa(same).chance == pytest.approx(1 / 3)
    rng = np.random.default_rng(0)
    chance = fleiss_kappa(words[rng.integers(0, 3, (5, 4000))])
    assert chance.kappa == pytest.approx(0, abs=0.02)
    assert chance.agreement == pytest.approx(1 / 3, abs=0.02)
    assert np.isnan(fleiss_kappa(same[:1]).kappa)


def test_kappa_of_a_textbook():
    """Fleiss (1971), as worked through in many texts: 14 raters, 10 subjects, kappa 0.210."""
    counts = [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]  # fmt: skip
    labels = np.array([np.repeat(list("abcde"), row) for row in counts]).T
    assert fleiss_kappa(labels).kappa == pytest.approx(0.210, abs=0.001)


@pytest.mark.parametrize(("circuits", "seeds"), [(2, 5), (3, 5), (3, 10), (20, 5)])
def test_the_interval_covers_what_other_seeds_would_give(circuits, seeds):
    """Fits end in one of several circuits, so that seeds are what differs, more than heads."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(40):
        needed = rng.random((circuits, 270)) < 0.3

        def draw(needed=needed):
            chosen = needed[rng.integers(0, circuits, seeds)]
            return chosen + 0.35 * rng.standard_normal((seeds, 270))

        truth = np.mean([np.corrcoef(draw().mean(0), draw().mean(0))[0, 1] for _ in range(60)])
        estimate = reproduced(draw(), draws=40)
        covered.append(estimate.low <= truth <= estimate.high)
    assert np.mean(covered) >= 0.85


def test_heads_of_a_layer_count_for_less_than_heads_of_many_layers():
    """Scores that depend on the layer alone: there are 30 of them, not 270."""
    hits = {"layers": 0, "heads": 0}
    for seed in range(60):
        values = measurements(4, 30, 0.5, seed)
        by_head = np.repeat(values[:, :, None], 9, axis=2)
        for name, found in (
            ("layers", reproduced(by_head, draws=60)),
            ("heads", reproduced(by_head.reshape(4, -1), draws=60)),
        ):
            hits[name] += found.low <= spearman_brown(0.5, 4) <= found.high
    assert hits["layers"] >= 52
    assert hits["heads"] < hits["layers"]


@pytest.mark.parametrize("shape", [(30, 9), (4, 12)])
def test_the_intervals_of_layers_and_heads_cover_the_truth(shape):
    """Of the reliability, and of a correlation with the noise taken out."""
    hits = {"reproduced": 0, "without noise": 0}
    for seed in range(40):
        values = measurements(8, shape[0] * shape[1], 0.5, seed).reshape(8, *shape)
        found = reproduced(values[:4], draws=40)
        hits["reproduced"] += found.low <= spearman_brown(0.5, 4) <= found.high
        noiseless = without_noise(values[:4], values[4:], draws=40)
        hits["without noise"] += noiseless.low <= 1 <= noiseless.high
    assert min(hits.values()) >= 35, hits


def test_where_heads_are_resampled_heads_are_counted():
    """Four layers of twelve heads are 48 heads, and degrees of freedom are theirs."""
    values = measurements(20, 48, 0.5, 0)
    layered, flat = values.reshape(20, 4, 12), values
    assert reproduced(layered) == reproduced(flat)
    assert without_noise(layered[:10], layered[10:]) == without_noise(flat[:10], flat[10:])


def test_layers_that_do_not_exist_count_for_nothing():
    """In the interval too: its degrees of freedom are those of the layers that are there."""
    values = measurements(8, 90, 0.5, 0).reshape(8, 10, 9)
    missing = np.pad(values, ((0, 0), (0, 5), (0, 0)), constant_values=np.nan)
    assert reproduced(missing) == reproduced(values)
    assert without_noise(missing[:4], missing[4:]) == without_noise(values[:4], values[4:])


def test_without_common_heads_nothing_is_known():
    values = measurements(4, 48, 0.5, 0).reshape(4, 4, 12)
    values[1] = np.nan
    assert math.isnan(reproduced(values).mean_map)
    assert math.isnan(without_noise(values, values).mean)


def test_heads_that_do_not_exist_are_left_out():
    values = measurements(4, 90, 0.5, 0).reshape(4, 10, 9)
    missing = np.pad(values, ((0, 0), (0, 2), (0, 0)), constant_values=np.nan)
    assert reproduced(missing).mean_map == pytest.approx(reproduced(values).mean_map)


def test_two_measurements_have_no_interval():
    estimate = reproduced(np.random.default_rng(0).random((2, 50)))
    assert math.isnan(estimate.low)
    assert "interval unknown" in estimate.text


def test_raters_who_agree_on_strata_alone_do_not_agree():
    """Every rater draws words anew, from a mixture that depends on the layer."""
    rng = np.random.default_rng(0)
    layers = np.repeat(np.arange(30), 9)
    labels = rng.random((10, 270)) < rng.random(30)[layers]
    assert fleiss_kappa(labels).kappa > 0.2
    assert abs(fleiss_kappa(labels, layers).kappa) < 0.05
