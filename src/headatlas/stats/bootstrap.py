"""Bootstrap intervals over seeds or heads."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

FloatArray = np.ndarray[Any, Any]

DRAWS = 1000


def bootstrap_interval(
    values: xr.DataArray,
    dim: str = "seed",
    *,
    statistic: Callable[..., Any] = np.mean,
    level: float = 0.95,
    draws: int = DRAWS,
    seed: int = 0,
) -> xr.DataArray:
    """Percentile bootstrap interval of a statistic over a dimension, for every head.

    Returns the array with a new dimension `bound` (lower, upper) in place of `dim`. All heads share
    the same resamples. `statistic` takes an array and an axis, as `numpy.mean` does. A single entry
    has no spread: both bounds are its value.
    """
    array = values.transpose(dim, ...).to_numpy()
    bounds = np.stack([array[0], array[0]])
    if len(array) > 1:
        sampled = resamples((array,), statistic, draws=draws, seed=seed, axis=0)
        bounds = np.quantile(sampled, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    single = values.isel({dim: 0}, drop=True)
    return xr.DataArray(
        bounds, dims=("bound", *single.dims), coords={"bound": ["lower", "upper"], **single.coords}
    )


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
