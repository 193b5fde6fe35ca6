"""P-values of many heads at once."""

from __future__ import annotations

import numpy as np

from headatlas.stats.arrays import FloatArray


def student_p(
    means: FloatArray, errors: FloatArray, df: FloatArray | float, *, greater: bool = False
) -> FloatArray:
    """P-values of means with standard errors: does the mean differ from 0, or is it `greater`?

    A mean without a standard error, or with one of 0, has no p-value (NaN); an effect of exactly 0
    has p = 1.
    """
    from scipy.stats import t

    errors = np.asarray(errors, float)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        statistic = (means if greater else np.abs(means)) / errors
    df = np.asarray(df, float)
    p = t.sf(np.where(np.isnan(statistic), 0.0, statistic), np.where(df >= 1, df, 1.0))
    p = np.where(np.isnan(statistic), 1.0, p if greater else 2 * p)
    known = np.isfinite(errors) & (df >= 1) & ((errors > 0) | (means == 0))
    return np.where(known, p, np.nan)


def holm(p: FloatArray) -> FloatArray:
    """Holm's correction: adjusted p-values that hold for all tests together; NaN stays NaN.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).round(2).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(np.isfinite(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * factors))
    return adjusted
