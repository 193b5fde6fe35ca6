"""Bootstrap resamples over heads."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from headatlas.stats.arrays import FloatArray

DRAWS = 1000


def resamples(
    data: tuple[FloatArray, ...],
    statistic: Callable[..., Any],
    *,
    draws: int,
    seed: int,
    axis: int | None = None,
) -> FloatArray:
    """The statistic of `draws` resamples (last axis), drawn together from all arrays of `data`.

    With `axis`, the statistic takes that argument and works on many heads at once.
    """
    from scipy.stats import DegenerateDataWarning, bootstrap

    with warnings.catch_warnings():
        # a resample may have no correlation (NaN); scipy warns of its own interval, not used here
        warnings.simplefilter("ignore", DegenerateDataWarning)
        result = bootstrap(
            data,
            statistic,
            n_resamples=draws,
            batch=100,
            paired=True,
            vectorized=axis is not None,
            axis=axis or 0,
            method="percentile",
            rng=np.random.default_rng(seed),
        )
    return np.asarray(result.bootstrap_distribution)
