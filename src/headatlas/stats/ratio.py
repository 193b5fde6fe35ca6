"""What is done of what there is to do: ratios of means over questions."""

from __future__ import annotations

from collections.abc import Sequence

from headatlas.stats.arrays import FloatArray
from headatlas.stats.clustered import LEVEL
from headatlas.stats.intervals import Change, mean_change


def needed_change(
    whole: FloatArray,
    empty: FloatArray,
    prefixes: Sequence[int],
    *,
    bounded: bool = False,
    level: float = LEVEL,
) -> Change:
    """How much more the model scores with all heads than with none, over questions.

    Only if this is above 0 is there something that heads do, and shares of it have a meaning.
    `bounded` is for measures that are 0 or 1; see `mean_change`.
    """
    return mean_change(whole - empty, list(map(str, prefixes)), bounded=bounded, level=level)


def linear_ratio(part: FloatArray, whole: FloatArray, weights: FloatArray) -> FloatArray:
    """mean(part) / mean(whole) for weighted questions, linearised: draw × ….

    `part` is … × question, `whole` is question, `weights` draw × question. With r the ratio over
    all questions, a draw has r + Σ weight · (part − r · whole) / mean(whole): a draw whose own
    mean(whole) is near 0 does not explode. Equal weights give r itself.

    >>> import numpy as np
    >>> weights = np.array([[0.5, 0.5], [1.0, 0.0]])
    >>> linear_ratio(np.array([1.0, 2.0]), np.array([4.0, 2.0]), weights).round(3).tolist()
    [0.5, 0.167]
    """
    scale = whole.mean()
    ratio = part.mean(-1) / scale
    residual = part - ratio[..., None] * whole  # … question
    draws: FloatArray = ratio + (weights @ residual.T) / scale
    return draws
