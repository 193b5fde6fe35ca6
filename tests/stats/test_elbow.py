"""Where a sorted curve bends."""

from __future__ import annotations

import numpy as np

from headatlas.stats.elbow import elbow

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
