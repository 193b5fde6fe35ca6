"""Curves and their scores, on numbers that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.stats.faithfulness import KeepCurve
from headatlas.stats.resampling import equal_weights

SHARES = (0.1, 0.2, 0.5, 0.98, 1.0)
PUBLISHED = (0.1, 0.2, 0.5, 1.0)


def curve(values):
    """Faithfulness `values` on two questions, between −4 (no heads) and −2 (all)."""
    kept = np.array([[-4 + 2 * value] * 2 for value in values])
    return KeepCurve(SHARES, PUBLISHED, kept, np.full(2, -2.0), np.full(2, -4.0))


def scores(values):
    return {name: float(own[0]) for name, own in curve(values).scores(equal_weights(2)).items()}


def test_a_perfect_map():
    found = scores((1, 1, 1, 1, 1))
    assert found["cpr"] == pytest.approx(0.9)  # the width of the curve
    assert found["cmd"] == found["removable"] == found["gain"] == pytest.approx(0.0)
    assert found["circuit"] == pytest.approx(1.0)


def test_areas_are_those_of_trapezoids_over_the_published_points():
    found = scores((0.0, 0.4, 0.8, 5.0, 1.0))
    area = 0.1 * 0.2 + 0.3 * 0.6 + 0.5 * 0.9
    assert found["cpr"] == pytest.approx(area)  # 5.0 at 98 % is no point of the benchmark
    assert found["cmd"] == pytest.approx(0.1 * 0.8 + 0.3 * 0.4 + 0.5 * 0.1)
    assert found["circuit"] == pytest.approx(0.2)
    assert found["gain"] == pytest.approx(8.0)  # (5 − 1) · 2 nats


def test_too_good_counts_as_distance_too():
    assert scores((1, 1, 1.5, 1, 1))["cmd"] > 0
    assert scores((1, 1, 1.5, 1, 1))["cpr"] > 0.9
