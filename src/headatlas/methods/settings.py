"""Checks of the settings of methods: a clear sentence before any work begins."""

from __future__ import annotations

import math
from typing import Any

from headatlas.errors import HeadAtlasError

HIGHEST = 100.0
"""The largest learning rate, and the largest multiple of λ, that makes sense."""


def check_learning_rate(rates: Any) -> None:
    """Raise unless it is a pair (start, end) of sensible learning rates."""
    check_pair("learning rate", rates, "(start, end), such as (0.3, 0.05)")


def check_pair(name: str, numbers: Any, words: str) -> None:
    """Raise unless it is a pair of numbers above 0 and at most `HIGHEST`."""
    pair = isinstance(numbers, tuple | list) and len(numbers) == 2
    if not pair or not all(isinstance(number, int | float) for number in numbers):
        raise HeadAtlasError(f"{name}: a pair {words}, not {numbers!r}.")
    for number in numbers:
        if not 0 < number <= HIGHEST:
            raise HeadAtlasError(f"{name}: above 0 and at most {HIGHEST:g}, not {number}.")


def check_first_gates(initial: Any) -> None:
    """Raise unless it is a range in [0, 1] that first gates can be drawn from."""
    pair = isinstance(initial, tuple | list) and len(initial) == 2
    numbers = pair and all(isinstance(gate, int | float) for gate in initial)
    if not numbers or not 0 <= initial[0] < initial[1] <= 1:
        raise HeadAtlasError(f"first gates are drawn from a range in [0, 1], not {initial!r}.")


def check_counts(method: str, **counts: Any) -> None:
    """Raise unless every number given is a positive integer."""
    for name, value in counts.items():
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not (whole and value >= 1):
            raise HeadAtlasError(f"{method} needs {name} of at least 1, not {value!r}.")


def check_numbers(
    method: str,
    least: float = 0.0,
    below: float = math.inf,
    *,
    least_allowed: bool = False,
    **numbers: Any,
) -> None:
    """Raise unless every number given that is not `None` lies between two bounds.

    The upper bound itself is not allowed, the lower one only with `least_allowed`.
    """
    for name, value in numbers.items():
        if value is None:
            continue
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not (least < value < below or (least_allowed and value == least)):
            low = f"of at least {least:g}" if least_allowed else f"above {least:g}"
            high = "" if below == math.inf else f" and below {below:g}"
            raise HeadAtlasError(f"{method} needs a {name} {low}{high}, not {value!r}.")
