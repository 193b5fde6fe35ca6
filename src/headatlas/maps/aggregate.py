"""Aggregating a map over seeds, functions or any other dimension."""

from __future__ import annotations

from collections.abc import Callable

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

SE = "_se"
"""Variables with this suffix are standard errors of the variable without it."""


def aggregate(
    data: xr.Dataset, rule: str, dim: str = "seed", *, skip_missing: bool = False
) -> xr.Dataset:
    """Apply a rule over a dimension; variables without that dimension stay as they are.

    A standard error becomes that of the mean; other rules have none, and it is dropped.
    """
    if rule not in RULES:
        raise MapError(f"no rule '{rule}': use {', '.join(RULES)}.")
    check_dim(data, dim)
    with_dim = [str(name) for name in data.data_vars if dim in data[name].dims]
    errors = [name for name in with_dim if name.endswith(SE) and name.removesuffix(SE) in with_dim]
    result = RULES[rule](data[[name for name in with_dim if name not in errors]], dim, skip_missing)
    if rule == "mean":
        for name in errors:
            result[name] = _se_of_mean(data[name.removesuffix(SE)], data[name], dim, skip_missing)
    return data.drop_vars(with_dim).drop_dims(dim, errors="ignore").assign(result.data_vars)


def _se_of_mean(values: xr.DataArray, errors: xr.DataArray, dim: str, skip: bool) -> xr.DataArray:
    """Standard error of the mean over seeds.

    The variance between seeds, divided by their number, and the variance over questions add up. The
    seeds may ask the same questions, so the latter is not divided: exact if they do, otherwise
    on the safe side.
    """
    count = values.sizes[dim]
    if count == 1:
        return errors.isel({dim: 0}, drop=True)
    between = values.var(dim, ddof=1, skipna=skip) / count
    variance: xr.DataArray = (errors**2).mean(dim, skipna=skip) + between
    return variance**0.5


def next_interval(values: xr.DataArray, dim: str = "seed", *, level: float = 0.95) -> xr.DataArray:
    """Where the next seed's value of every head is expected: Student's prediction interval.

    Returns the array with a new dimension `bound` (lower, upper) in place of `dim`; NaN with fewer
    than two seeds.
    """
    from scipy.stats import t

    check_dim(values, dim)
    count = values.sizes[dim]
    mean = values.mean(dim, skipna=False)
    half_width = xr.full_like(mean, np.nan)
    if count > 1:
        factor = float(t.ppf((1 + level) / 2, count - 1)) * (1 + 1 / count) ** 0.5
        half_width = factor * values.std(dim, ddof=1, skipna=False)
    bounds = [mean - half_width, mean + half_width]
    return xr.concat(bounds, xr.Variable("bound", ["lower", "upper"]))


def check_dim(data: xr.Dataset | xr.DataArray, dim: str) -> None:
    """Raise unless the data has the dimension."""
    if dim not in data.dims:
        have = ", ".join(map(str, data.dims))
        raise MapError(f"this map has no dimension '{dim}': it has {have}.")
