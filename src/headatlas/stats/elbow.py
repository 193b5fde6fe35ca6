"""The elbow of a sorted curve."""

from __future__ import annotations

from typing import Any

import numpy as np


def elbow(values: np.ndarray[Any, Any]) -> int:
    """Number of values before the bend of the sorted curve: the point that lies farthest below the
    line from the largest value to the smallest. Missing values (NaN) are ignored.

    >>> elbow(np.array([9.0, 8.0, 0.3, 0.2, 0.1, 0.0]))
    2
    """
    curve = np.sort(values[np.isfinite(values)])[::-1]
    if len(curve) < 3 or curve[0] == curve[-1]:
        return 0
    x = np.linspace(0, 1, len(curve))
    y = (curve - curve[-1]) / (curve[0] - curve[-1])
    return int(np.argmax(1 - x - y))
