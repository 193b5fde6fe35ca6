"""The integral of a gradient along a path, from points that go where they are needed most."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from headatlas.maps.completeness import MAX_UNEXPLAINED
from headatlas.stats.arrays import FloatArray

FIRST_POINTS = 5
"""Points that are evenly spaced, the ends of the path among them; the others follow the measure."""

TOLERANCE = MAX_UNEXPLAINED
"""Share of the difference that intervals may leave unexplained together, each counted by its size:
what they leave with opposite signs does not cancel."""


class _Point(NamedTuple):
    """The measure at a point of the path, and its gradient."""

    value: float
    gradient: FloatArray

    @property
    def slope(self) -> float:
        """How fast the measure grows along the path, on which all gates move together."""
        return float(self.gradient.sum())


class PathIntegral:
    """∫ ∇y dt of one example over the path from the baseline (t = 0) to the model (t = 1).

    Trapezoid rule. The measure y is known wherever its gradient is, so each interval tells what its
    gradients leave unexplained: |y(b) − y(a) − (b − a)/2 · (y′(a) + y′(b))|. The next point halves
    the interval that leaves most. The result is not scaled to the difference of y, which therefore
    tells how good it is.

    >>> path = PathIntegral()
    >>> while not path.is_explained:
    ...     t = path.next_point()
    ...     path.add(t, t**3, np.array([3 * t**2]))
    >>> bool(abs(path.integral()[0] - 1) < 0.02)
    True
    """

    def __init__(self) -> None:
        self._points: dict[float, _Point] = {}

    def __len__(self) -> int:
        """The number of points."""
        return len(self._points)

    def next_point(self) -> float:
        """Where the gradient should be taken next."""
        if len(self._points) < FIRST_POINTS:
            return len(self._points) / (FIRST_POINTS - 1)
        start, stop = max(self._intervals(), key=self._unexplained)
        return (start + stop) / 2

    def add(self, point: float, value: float, gradient: FloatArray) -> None:
        """The measure and its gradient at a point."""
        self._points[point] = _Point(value, gradient)

    @property
    def is_explained(self) -> bool:
        """Whether the gradients explain the measure well enough in every part of the path."""
        if len(self._points) < FIRST_POINTS:
            return False
        unexplained = sum(map(self._unexplained, self._intervals()))
        return unexplained <= TOLERANCE * abs(self.difference)

    @property
    def difference(self) -> float:
        """The measure of the model minus that of the baseline: what the integral should sum to."""
        return self._points[1.0].value - self._points[0.0].value

    def integral(self) -> FloatArray:
        """The mean gradient along the path, in the shape of a gradient."""
        return np.asarray(np.sum([self._area(*ends) for ends in self._intervals()], axis=0))

    def _intervals(self) -> list[tuple[float, float]]:
        return list(pairwise(sorted(self._points)))

    def _area(self, start: float, stop: float) -> FloatArray:
        ends = self._points[start].gradient + self._points[stop].gradient
        return (stop - start) / 2 * ends

    def _unexplained(self, interval: tuple[float, float]) -> float:
        one, other = (self._points[point] for point in interval)
        explained = (interval[1] - interval[0]) / 2 * (one.slope + other.slope)
        return abs(other.value - one.value - explained)
