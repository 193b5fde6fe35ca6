"""The two halves of what a map was measured from: what its reliability is known by."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import xarray as xr

from headatlas.maps.importance import importance_of

if TYPE_CHECKING:
    from headatlas.maps.map import Map


class Halves(NamedTuple):
    """How much the task needs every head, larger for more, by two halves of the measurements.

    `factor`: how many times as much the map was measured from as each half.
    """

    one: xr.DataArray
    other: xr.DataArray
    factor: float


def halves(head_map: Map) -> Halves | None:
    """Two equal halves of what a map was measured from; `None` if it was measured once.

    Halves of a probing map are other questions and, with several seeds, other probes; of a map of
    effects other questions; of any other map other seeds. Of an odd number of
    seeds the last is in neither: `factor` then counts seeds, the larger of the two for probes, so
    that a correlation without noise is rather too small.
    """
    ranking, data = importance_of(head_map), head_map.data
    seeds = data.sizes.get("seed", 1)
    even, odd = (slice(k, seeds // 2 * 2, 2) for k in range(2))
    factor = 2.0
    if "importance_part" in data:
        values, sizes = data["importance_part"], data["part_examples"]
        one, other = (
            _weighted(values.isel(part=slice(k, None, 2)), sizes.isel(part=slice(k, None, 2)))
            for k in range(2)
        )
        if seeds > 1:
            one, other = one.isel(seed=even), other.isel(seed=odd)
            factor = seeds / (seeds // 2)
    elif f"{ranking.variable}_half" in data:
        one, other = (data[f"{ranking.variable}_half"].isel(half=k, drop=True) for k in range(2))
    elif seeds > 1:
        one, other = (data[ranking.variable].isel(seed=half) for half in (even, odd))
        factor = seeds / (seeds // 2)
    else:
        return None
    return Halves(ranking.sign * _over_seeds(one), ranking.sign * _over_seeds(other), factor)


def _weighted(parts: xr.DataArray, sizes: xr.DataArray) -> xr.DataArray:
    """The mean over parts, each with its number of examples; NaN where there is none."""
    total = sizes.sum("part")
    mean: xr.DataArray = (parts * sizes).sum("part", min_count=1) / total.where(total > 0)
    return mean


def _over_seeds(values: xr.DataArray) -> xr.DataArray:
    return values.mean("seed", skipna=True) if "seed" in values.dims else values
