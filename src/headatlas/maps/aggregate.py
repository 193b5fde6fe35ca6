"""Aggregating a map over seeds, functions or any other dimension."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from headatlas.errors import MapError
from headatlas.stats.intervals import wilson

RULES: dict[str, Callable[[xr.Dataset, str, bool], xr.Dataset]] = {
    "mean": lambda data, dim, skip: data.mean(dim, skipna=skip),
    "median": lambda data, dim, skip: data.median(dim, skipna=skip),
    "always": lambda data, dim, skip: data.min(dim, skipna=skip),
    "any": lambda data, dim, skip: data.max(dim, skipna=skip),
}
"""`always` is the minimum (what holds in every seed), `any` the maximum (in at least one)."""

SE, P = "_se", "_p"
"""Suffixes of the standard error and of the p-value of a variable."""


def aggregate(
    data: xr.Dataset, rule: str, dim: str = "seed", *, skip_missing: bool = False
) -> xr.Dataset:
    """Apply a rule over a dimension; variables without that dimension stay as they are.

    A standard error becomes that of the mean; other rules have none, and it is dropped. Of p-values
    the largest counts, whatever the rule.
    """
    if rule not in RULES:
        raise MapError(f"no rule '{rule}': use {', '.join(RULES)}.")
    check_dim(data, dim)
    with_dim = [str(name) for name in data.data_vars if dim in data[name].dims]
    errors = [name for name in with_dim if name.endswith(SE) and name.removesuffix(SE) in with_dim]
    p_values = [name for name in with_dim if name.endswith(P) and name.removesuffix(P) in with_dim]
    plain = [name for name in with_dim if name not in (*errors, *p_values)]
    result = RULES[rule](data[plain], dim, skip_missing)
    for name in p_values:
        result[name] = data[name].max(dim, skipna=skip_missing)
    if rule == "mean":
        for name in errors:
            result[name] = _se_of_mean(data[name.removesuffix(SE)], data[name], dim, skip_missing)
    return data.drop_vars(with_dim).drop_dims(dim, errors="ignore").assign(result.data_vars)


def _se_of_mean(values: xr.DataArray, errors: xr.DataArray, dim: str, skip: bool) -> xr.DataArray:
    """Standard error of the mean over seeds, on the safe side.

    The variance between seeds, divided by their number, and the mean variance over questions add
    up. Seeds may share questions, so the latter is not divided: the true error is at most this.
    """
    variance: xr.DataArray = (errors**2).mean(dim, skipna=skip) + between_seeds(values, dim)
    return variance**0.5


def between_seeds(values: xr.DataArray, dim: str = "seed") -> xr.DataArray:
    """The part of a mean's variance that comes from the seeds; 0 where there is one."""
    count = values.count(dim)
    between: xr.DataArray = values.var(dim, ddof=1, skipna=True) / count
    return between.where(count > 1, 0.0)


def mean_bounds(values: xr.DataArray, dim: str = "seed", *, level: float = 0.95) -> xr.DataArray:
    """Student's interval of the mean over seeds, with a new dimension `bound` (lower, upper).

    NaN for heads that fewer than two seeds have.
    """
    count = values.count(dim)
    half_width = _t_quantile(level, count) * between_seeds(values, dim) ** 0.5
    mean = values.mean(dim)
    return xr.concat([mean - half_width, mean + half_width], _BOUND)


def score_bounds(scores: xr.DataArray, dim: str = "seed") -> xr.DataArray:
    """Wilson's interval of the mean over seeds of scores between 0 and 1, with a dimension `bound`.

    Such scores are mostly near 0 or near 1, and a few equal ones say little about the next: their
    variance is taken as that of a share, the largest possible. NaN for heads that fewer than two
    seeds have.
    """
    count = scores.count(dim)
    low, high = wilson(scores.mean(dim).clip(0, 1), count.where(count > 1))
    bounds: xr.DataArray = xr.concat([low, high], _BOUND)
    return bounds.clip(0, 1)


def _t_quantile(level: float, count: xr.DataArray) -> xr.DataArray:
    from scipy.stats import t

    quantile = t.ppf((1 + level) / 2, (count - 1).clip(min=1))
    return xr.DataArray(quantile, dims=count.dims).where(count.to_numpy() > 1)


_BOUND = xr.Variable("bound", ["lower", "upper"])


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
    return xr.concat(bounds, _BOUND)


def check_dim(data: xr.Dataset | xr.DataArray, dim: str) -> None:
    """Raise unless the data has the dimension."""
    if dim not in data.dims:
        have = ", ".join(map(str, data.dims))
        raise MapError(f"this map has no dimension '{dim}': it has {have}.")
