"""Summing a map up over seeds, functions, or any other dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from headatlas.errors import MapError

RULES: dict[str, Callable[[xr.Dataset, str, bool], xr.Dataset]] = {
    "mean": lambda data, dim, skip: data.mean(dim, skipna=skip),
    "median": lambda data, dim, skip: data.median(dim, skipna=skip),
    "always": lambda data, dim, skip: data.min(dim, skipna=skip),
    "any": lambda data, dim, skip: data.max(dim, skipna=skip),
}
"""`always` is the minimum (what holds in every seed), `any` the maximum (in at least one)."""


def aggregate(
    data: xr.Dataset, rule: str, dim: str = "seed", *, skip_missing: bool = False
) -> xr.Dataset:
    """Apply a rule over a dimension; variables without it stay as they are."""
    if rule not in RULES:
        raise MapError(f"no rule '{rule}': use {', '.join(RULES)}.")
    _check_dim(data, dim)
    with_dim = [name for name in data.data_vars if dim in data[name].dims]
    result = RULES[rule](data[with_dim], dim, skip_missing)
    return data.drop_vars(with_dim).drop_dims(dim, errors="ignore").assign(result.data_vars)


def bootstrap_interval(
    values: xr.DataArray,
    dim: str = "seed",
    *,
    statistic: Callable[..., Any] = np.mean,
    level: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
) -> xr.DataArray:
    """Percentile bootstrap interval of a statistic over a dimension, for every head.

    Gives the same array with a new dimension `bound` (lower, upper) in place of `dim`. All heads
    share the same resamples. `statistic` takes an array and an axis, as `numpy.mean` does.
    """
    _check_dim(values, dim)
    if not 0 < level < 1:
        raise MapError(f"the level of an interval lies between 0 and 1, not at {level}.")
    array = values.transpose(dim, ...).to_numpy()
    count = array.shape[0]
    picks = np.random.default_rng(seed).integers(count, size=(draws, count))
    resampled = np.stack([statistic(array[pick], axis=0) for pick in picks])
    edges = [(1 - level) / 2, (1 + level) / 2]
    bounds = np.quantile(resampled, edges, axis=0)
    rest = values.isel({dim: 0}, drop=True)
    return xr.DataArray(
        bounds, dims=("bound", *rest.dims), coords={"bound": ["lower", "upper"], **rest.coords}
    )


def next_interval(values: xr.DataArray, dim: str = "seed", *, level: float = 0.95) -> xr.DataArray:
    """Where the next seed's value of every head is expected: Student's prediction interval.

    Gives the same array with a new dimension `bound` (lower, upper) in place of `dim`; NaN with
    fewer than two seeds.
    """
    from scipy.stats import t

    _check_dim(values, dim)
    count = values.sizes[dim]
    mean = values.mean(dim, skipna=False)
    reach = xr.full_like(mean, np.nan)
    if count > 1:
        factor = float(t.ppf((1 + level) / 2, count - 1)) * (1 + 1 / count) ** 0.5
        reach = factor * values.std(dim, ddof=1, skipna=False)
    bounds = [mean - reach, mean + reach]
    return xr.concat(bounds, xr.Variable("bound", ["lower", "upper"]))


def _check_dim(data: xr.Dataset | xr.DataArray, dim: str) -> None:
    if dim not in data.dims:
        have = ", ".join(map(str, data.dims))
        raise MapError(f"this map has no dimension '{dim}': it has {have}.")
