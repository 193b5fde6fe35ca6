"""Curves and their scores, on numbers that can be worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.stats.faithfulness import KeepCurve
from headatlas.stats.ratio import linear_ratio, needed_change
from headatlas.stats.resampling import bootstrap_variance, equal_weights, resampled_weights

SHARES = (0.1, 0.2, 0.5, 0.98, 1.0)
PUBLISHED = (0.1, 0.2, 0.5, 1.0)


def curve(values):
    """Faithfulness `values` on two questions, between −4 (no heads) and −2 (all)."""
    kept = np.array([[-4 + 2 * value] * 2 for value in values])
    return KeepCurve(SHARES, PUBLISHED, kept, np.full(2, -2.0), np.full(2, -4.0), True)


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


def test_without_a_need_for_heads_only_the_gain_is_known():
    whole, empty = np.full(2, -4.0), np.full(2, -2.0)  # heads do harm
    kept = np.full((len(SHARES), 2), -3.0)
    found = KeepCurve(SHARES, PUBLISHED, kept, whole, empty, False).scores(equal_weights(2))
    assert {name for name, own in found.items() if np.isnan(own[0])} == set(found) - {"gain"}
    assert found["gain"] == pytest.approx(1.0)


def test_what_heads_are_needed_for_has_an_interval_over_prefixes():
    whole, prefixes = np.array([0.3, 0.4, 0.5, 0.6]), (0, 0, 1, 1)
    zero = np.zeros(4)
    assert needed_change(whole, zero, range(4)).above is True
    assert needed_change(whole, zero, prefixes).above is None  # of two prefixes
    assert needed_change(zero, whole, range(4)).above is False
    assert needed_change(np.ones(6), np.zeros(6), range(6)).above is None  # no spread to go by
    assert needed_change(np.ones(6), np.zeros(6), range(6), bounded=True).above is True


def test_ratios_do_not_explode_where_a_resample_needs_no_head():
    """The linearised ratio has the variance that the delta method gives."""
    rng = np.random.default_rng(1)
    whole = rng.normal(0.0, 0.3, 24)
    part = 0.5 * whole + rng.normal(0, 0.1, 24)
    weights = resampled_weights(range(24))
    ratio = linear_ratio(part, whole, weights)
    plain = part.sum() / whole.sum()
    assert linear_ratio(part, whole, equal_weights(24))[0] == pytest.approx(plain)
    assert np.abs((weights @ part) / (weights @ whole)).max() > 5 * np.abs(ratio).max()
    residual = part - plain * whole
    delta = np.var(residual, ddof=1) / 24 / whole.mean() ** 2
    assert bootstrap_variance(ratio, 24)[0] == pytest.approx(delta, rel=0.15)
