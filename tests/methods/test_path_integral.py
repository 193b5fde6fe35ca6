"""The integral along a path: exact where the gradient is linear, near kinks by its points alone."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.methods.path_integral import FIRST_POINTS, TOLERANCE, PathIntegral


def follow(measure, gradient, most=200):
    path = PathIntegral()
    while not path.is_explained and len(path) < most:
        point = path.next_point()
        path.add(point, measure(point), np.asarray(gradient(point)))
    return path


def test_a_linear_gradient_needs_no_more_than_the_first_points():
    path = follow(lambda t: t**2 + t, lambda t: [2 * t, 1.0])
    assert len(path) == FIRST_POINTS
    np.testing.assert_allclose(path.integral(), [1.0, 1.0])
    assert path.difference == 2.0


def test_points_gather_where_the_measure_bends():
    steep = 400.0
    path = follow(
        lambda t: np.tanh(steep * (t - 0.3)) + t,
        lambda t: [steep / np.cosh(steep * (t - 0.3)) ** 2, 1],
    )
    near = [point for point in path._points if abs(point - 0.3) < 0.05]
    assert len(near) > len(path) / 2
    assert len(path) < 64  # evenly, the trapezoid rule takes hundreds
    np.testing.assert_allclose(path.integral(), [2.0, 1.0], rtol=TOLERANCE)


def test_the_result_is_not_scaled_to_the_difference():
    """A gradient that is not that of the measure must show."""
    path = follow(lambda t: t, lambda t: [0.5], most=30)
    assert len(path) == 30
    assert path.integral().sum() == pytest.approx(0.5)
    assert path.difference == 1.0


def test_errors_of_opposite_sign_do_not_end_the_path():
    """The slope errs by as much to the left of the middle as to the right: the sum is right at
    once, each interval is not."""
    path = PathIntegral()
    for point in np.linspace(0, 1, FIRST_POINTS):
        wave = np.sin(2 * np.pi * point)
        path.add(path.next_point(), point + wave / 2, np.array([1.0]))
    assert path.integral().sum() == pytest.approx(path.difference)
    assert not path.is_explained
