"""Where a sorted curve bends."""

from __future__ import annotations

import numpy as np

from headatlas.stats.elbow import elbow, resampled_elbow

STEEP = np.array([[10, 9, 8, 0.2, 0.1], [0.05, 0.04, 0.03, 0.02, 0.0]])


def test_the_elbow_lies_where_the_curve_bends():
    values = np.random.default_rng(0).permuted(STEEP)
    assert elbow(values) == 3
    missing = values.copy()
    missing[0, 0] = np.nan
    assert elbow(missing) == 3 - int(values[0, 0] > 1)


def test_a_flat_or_short_curve_has_none():
    assert elbow(np.ones((2, 3))) == 0
    assert elbow(np.array([3.0, 1.0])) == 0
    assert elbow(np.full(4, np.nan)) == 0


def noisy(rng, parts=10, seeds=3, heads=270):
    """Importances with a heavy tail, measured in parts and seeds."""
    truth = np.random.default_rng(7).gamma(0.5, 1.0, heads)
    of_seeds = rng.normal(0, 0.4, (1, seeds, heads))
    return truth + of_seeds + rng.normal(0, 1.2, (parts, seeds, heads))


def test_the_resampled_elbow_varies_far_less_than_that_of_one_curve():
    rng = np.random.default_rng(0)
    plain, resampled, inside = [], [], 0
    for _ in range(40):
        values = noisy(rng)
        bend = resampled_elbow(values, np.full(10, 3))
        plain.append(elbow(values.mean((0, 1))))
        resampled.append(bend.count)
        other = elbow(noisy(rng).mean((0, 1)))
        inside += bend.low <= other <= bend.high
    assert np.std(resampled) < 0.6 * np.std(plain)
    assert abs(np.mean(resampled) - np.mean(plain)) < np.std(plain)
    assert inside >= 34  # another map's own elbow lies in the range


def test_parts_count_by_their_examples_and_empty_ones_not_at_all():
    values = np.zeros((3, 1, 10))
    values[0, 0, :3] = (10, 9, 8)
    values[1] = values[0]
    values[2] = np.nan
    bend = resampled_elbow(values, np.array([4, 4, 0]))
    assert (bend.count, bend.low, bend.high) == (3, 3, 3)
    values[2] = -values[0]
    assert resampled_elbow(values, np.array([500, 500, 1])).count == 3
    assert resampled_elbow(values, np.zeros(3)).count == 0
