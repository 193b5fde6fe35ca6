"""The map type: labelled numbers per head, with where they came from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from headatlas.errors import MapError

if TYPE_CHECKING:
    from headatlas.stats.agreement import Agreement

HEAD_DIMS = ("layer", "head")


@dataclass(frozen=True, eq=False)
class Map:
    """One or more numbers per head, for one model and task.

    `data` is a dataset whose variables end in the dimensions (`layer`, `head`); further dimensions
    such as `seed` or `function` come before. Heads that do not exist are NaN. `provenance` says
    how the numbers were obtained; it is plain data and is saved with them.

    >>> effect = np.zeros((2, 3))
    >>> Map.of({"effect": (("layer", "head"), effect)}, {"method": "ablation"})["effect"].shape
    (2, 3)
    """

    data: xr.Dataset
    provenance: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not self.data.data_vars:
            raise MapError("a map needs at least one variable.")
        for name, values in self.data.data_vars.items():
            if values.dims[-2:] != HEAD_DIMS:
                raise MapError(
                    f"the variables of a map end in the dimensions layer, head, but '{name}' has "
                    f"{', '.join(map(str, values.dims)) or 'none'}."
                )

    @classmethod
    def of(
        cls,
        variables: Mapping[str, tuple[Sequence[str], Any]],
        provenance: Mapping[str, Any],
        coordinates: Mapping[str, Any] | None = None,
    ) -> Map:
        """Make a map from arrays with named dimensions; layers and heads are numbered from 0."""
        data = xr.Dataset(
            {name: (tuple(dims), np.asarray(values)) for name, (dims, values) in variables.items()}
        )
        numbered = {dim: np.arange(data.sizes[dim]) for dim in HEAD_DIMS if dim in data.sizes}
        return cls(data.assign_coords(numbered | dict(coordinates or {})), provenance)

    def __getitem__(self, name: str) -> xr.DataArray:
        if name not in self.data.data_vars:
            have = ", ".join(map(str, self.data.data_vars))
            raise MapError(f"no variable '{name}' in this map: it has {have}.")
        return self.data[name]

    @property
    def variables(self) -> list[str]:
        return [str(name) for name in self.data.data_vars]

    @property
    def digest(self) -> str:
        """Short hash of the map's numbers: what stands beside them does not change it."""
        found = hashlib.sha256()
        for name in sorted(self.variables):
            values = self.data[name]
            found.update(f"{name} {values.dims} {values.shape}".encode())
            found.update(np.ascontiguousarray(values.to_numpy(), np.float64).tobytes())
        return found.hexdigest()[:16]

    def aggregate(self, rule: str, dim: str = "seed", *, skip_missing: bool = False) -> Map:
        """The map with one dimension summed up: mean, median, always (min) or any (max).

        A head that lacks a number for some entries has none in the result, unless `skip_missing`.
        """
        from headatlas.maps.aggregate import aggregate

        data = aggregate(self.data, rule, dim, skip_missing=skip_missing)
        return Map(data, {**self.provenance, "aggregated": rule})

    def agreement(self, other: Map, variable: str, **settings: Any) -> Agreement:
        """How far two maps agree on a variable; see `agreement`."""
        from headatlas.stats.agreement import agreement

        return agreement(self[variable], other[variable], **settings)

    def roles(self, rule: str | None = "always", threshold: float = 0.5) -> xr.DataArray:
        """The role that gating gives every head, in words; see `maps.roles`."""
        from headatlas.maps.roles import roles

        return roles(self, rule, threshold)

    def save(self, path: str | Path) -> Path:
        """Write the map as netCDF; the file appears whole or not at all."""
        from headatlas.maps.files import save_map

        return save_map(self, path)


def head_coordinates(
    kv_groups: Mapping[tuple[int, int], int], shape: tuple[int, int]
) -> dict[str, Any]:
    """The coordinate `kv_group` (layer × head): the key/value head of every query head, or −1."""
    groups = np.full(shape, -1, dtype=np.int32)
    for head, group in kv_groups.items():
        groups[head] = group
    return {"kv_group": (HEAD_DIMS, groups)}


def combine(parts: Iterable[Map]) -> Map:
    """Fill one map from parts that hold different heads or seeds; provenance is the first's.

    A number that two parts give must be the same, up to the rounding between machines; the first
    one counts.
    """
    parts = list(parts)
    if not parts:
        raise MapError("there is nothing to combine: no part of the map was given.")
    # numbers that stand beside the heads' (losses, groups) are combined like the heads' own
    beside = [name for name in parts[0].data.coords if name not in parts[0].data.indexes]
    whole = parts[0].data.reset_coords()
    for part in parts[1:]:
        _check_overlap(whole, part.data)
        whole = whole.combine_first(part.data.reset_coords())
    return Map(
        whole.set_coords(beside).transpose(..., *HEAD_DIMS, missing_dims="ignore"),
        parts[0].provenance,
    )


def _check_overlap(one: xr.Dataset, other: xr.Dataset) -> None:
    for name in set(one.data_vars) & set(other.data_vars):
        a, b = xr.align(one[name], other[name], join="inner")
        both = np.isfinite(a) & np.isfinite(b)
        if not np.allclose(a.where(both, 0), b.where(both, 0), rtol=1e-3, atol=1e-6):
            raise MapError(f"the parts of a map contradict each other in '{name}'.")
