"""Heads in the order of a score."""

from __future__ import annotations

import numpy as np
import xarray as xr

Head = tuple[int, int]


def heads_by(values: xr.DataArray) -> list[Head]:
    """The heads (layer, head) by falling value, ties in reading order; missing ones are left out.

    >>> heads_by(xr.DataArray([[0.1, np.nan], [0.3, 0.2]], dims=("layer", "head")))
    [(1, 0), (1, 1), (0, 0)]
    """
    array = values.to_numpy()
    flat = np.argsort(-np.nan_to_num(array, nan=-np.inf), axis=None, kind="stable")
    layers, heads = (values[dim].to_numpy() for dim in ("layer", "head"))
    places = zip(*np.unravel_index(flat, array.shape), strict=True)
    return [(int(layers[i]), int(heads[j])) for i, j in places if np.isfinite(array[i, j])]
