"""The map type: labelled numbers per head, with their provenance."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from headatlas.errors import MapError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from headatlas.maps.comparison import Comparison
    from headatlas.maps.ranking import Ranking
    from headatlas.maps.reliability import Reliability

HEAD_DIMS = ("layer", "head")


@dataclass(frozen=True, eq=False, repr=False)
class Map:
    """One or more numbers per head, for one model and task.

    `data` is an `xarray.Dataset` whose variables end in the dimensions (`layer`, `head`); further
    dimensions such as `seed` or `function` come before. Heads that do not exist are NaN.
    `provenance` says how the numbers were obtained; it is plain data and saved with them.

    >>> effect = np.zeros((2, 3))
    >>> head_map = Map.of({"effect": (("layer", "head"), effect)}, {"method": "ablation"})
    >>> head_map["effect"].shape
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
        """A variable, or a coordinate such as `seed`, `function` or `kv_group`."""
        if name not in self.data.variables:
            have = ", ".join(map(str, self.data.data_vars))
            coordinates = ", ".join(map(str, self.data.coords))
            raise MapError(
                f"no variable '{name}' in this map: it has {have} (coordinates {coordinates})."
            )
        return self.data[name]

    @property
    def variables(self) -> list[str]:
        """Names of the variables."""
        return [str(name) for name in self.data.data_vars]

    @property
    def name(self) -> str:
        """What the map's file is called: model, task, method and a hash of content and settings."""
        from headatlas.maps.naming import group_hash, map_name

        facts = self.provenance
        group = group_hash(
            str(facts.get("model_hash")),
            str(facts.get("task_hash")),
            str(facts.get("method")),
            int(facts.get("method_version", 0)),
            dict(facts.get("settings", {})),
        )
        model, task, method = (str(facts.get(key)) for key in ("model", "task", "method"))
        return map_name(model, task, method, group)

    @property
    def digest(self) -> str:
        """Short hash of the map's numbers; coordinates and provenance do not change it."""
        digest = hashlib.sha256()
        for name in sorted(self.variables):
            values = self.data[name]
            digest.update(f"{name} {values.dims} {values.shape}".encode())
            digest.update(np.ascontiguousarray(values.to_numpy(), np.float64).tobytes())
        return digest.hexdigest()[:16]

    def sel(self, **labels: Any) -> Map:
        """The map at some labels, as `xarray.Dataset.sel`: `gates.sel(seed=0)`.

        Layer and head stay dimensions: `sel(layer=3)` gives a map of one layer.
        """
        kept = {
            dim: [label] if dim in HEAD_DIMS and np.isscalar(label) else label
            for dim, label in labels.items()
        }
        for dim in kept:
            if dim not in self.data.dims:
                have = ", ".join(map(str, self.data.dims))
                raise MapError(f"this map has no dimension '{dim}': it has {have}.")
        facts = dict(self.provenance)
        if "seed" in kept:
            facts.pop("reliability", None)  # that of other seeds
        try:
            return Map(self.data.sel(kept), facts)
        except (KeyError, ValueError, IndexError, TypeError):
            have = "; ".join(f"{dim} {_span(self.data, dim)}" for dim in kept)
            raise MapError(f"nothing at {labels} in this map: it has {have}.") from None

    def aggregate(self, rule: str, dim: str = "seed", *, skip_missing: bool = False) -> Map:
        """The map with one dimension aggregated: mean, median, always (min) or any (max).

        A head that lacks a number for some entries has none in the result, unless `skip_missing`.
        """
        from headatlas.maps.aggregate import aggregate

        data = aggregate(self.data, rule, dim, skip_missing=skip_missing)
        facts = {**self.provenance, "aggregated": rule}
        if dim == "seed" and "reliability" not in facts and self.reliability is not None:
            facts["reliability"] = self.reliability.as_dict()
        return Map(data, facts)

    def agreement(self, other: Map, **settings: Any) -> Comparison:
        """How far two maps agree, with signs aligned and seeds averaged; see `compare_maps`."""
        from headatlas.maps.compare import compare_maps

        return compare_maps(self, other, **settings)

    def roles(self, rule: str | None = "always", threshold: float = 0.5) -> xr.DataArray:
        """The role that gating gives every head, in words; see `maps.roles`."""
        from headatlas.maps.roles import roles

        return roles(self, rule, threshold)

    @cached_property
    def reliability(self) -> Reliability | None:
        """How far a gating map can be trusted, by its own seeds and fits; `None` for other maps."""
        from headatlas.maps.reliability import reliability
        from headatlas.maps.roles import is_gating

        return reliability(self) if is_gating(self) else None

    @property
    def warnings(self) -> list[str]:
        """What a reader must know before using the numbers, a sentence each; mostly empty."""
        from headatlas.maps.completeness import completeness_warnings

        own = self.reliability.warnings if self.reliability is not None else []
        return [*own, *completeness_warnings(self)]

    @property
    def cautions(self) -> list[str]:
        """The `warnings`, after one if the model is not known to do the task."""
        weak = self.provenance.get("task_warning")
        return [*([f"the untouched model is {weak}"] if weak else []), *self.warnings]

    def top(self, n: int = 10) -> pd.DataFrame:
        """The `n` most important heads, each with its interval and corrected p-value.

        A map of functions has `n` heads per function. See `maps.ranking` for what is ranked.
        """
        from headatlas.maps.ranking import top_heads

        return top_heads(self, n)

    @property
    def ranking(self) -> Ranking:
        """How the map ranks heads: the score, and what its p-values are corrected for."""
        from headatlas.maps.ranking import ranking_of

        return ranking_of(self)

    def to_dataframe(self) -> pd.DataFrame:
        """All heads as a table, the most important first: what `tables/*.heads.csv` holds."""
        from headatlas.maps.ranking import ranked_table

        return ranked_table(self)

    def plot(self, figure: str = "heatmap", **settings: Any) -> Figure:
        """Draw the map; `headatlas list figures` names the figures."""
        from headatlas.plots import draw

        return draw(figure, self, **settings)

    def save(self, path: str | Path) -> Path:
        """Write the map as netCDF; the file appears whole or not at all."""
        from headatlas.maps.files import save_map

        return save_map(self, path)

    def save_scores(
        self, path: str | Path, *, function: str | None = None, cfg: Mapping[str, Any] | None = None
    ) -> Path:
        """Write every head's score for other programs: `.json` (EAP-IG, MIB), `.csv` or
        `.safetensors`; see `maps.scores`."""
        from headatlas.maps.scores import save_scores

        return save_scores(self, path, function=function, cfg=cfg)

    def __repr__(self) -> str:
        facts = self.provenance
        sizes = ", ".join(f"{name}: {size}" for name, size in self.data.sizes.items())
        origin = " of ".join(str(facts[key]) for key in ("method", "task") if key in facts)
        model = f" on {facts['model']}" if "model" in facts else ""
        return f"<Map {origin}{model} ({sizes}): {', '.join(self.variables)}>"

    def _repr_html_(self) -> str:
        from headatlas.plots import default_figure, figure_html

        return f"<p>{escape(repr(self))}</p>{figure_html(default_figure(self), self)}"


def _span(data: xr.Dataset, dim: str) -> str:
    """The labels of a dimension, as a message shows them."""
    labels = [str(label) for label in data[dim].to_numpy()]
    return ", ".join(labels) if len(labels) <= 12 else f"{labels[0]} to {labels[-1]}"


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

    What it says of the first's own seeds (`reliability`, `stopped`) is not of several parts, and is
    dropped. A number that two parts give must be the same, up to the rounding between machines; the
    first one counts.
    """
    parts = list(parts)
    if not parts:
        raise MapError("there is nothing to combine: no part of the map was given.")
    # numbers that stand beside the heads' (losses, groups) are combined like the heads' own; a part
    # may have some that the others lack
    beside = dict.fromkeys(
        name for part in parts for name in part.data.coords if name not in part.data.indexes
    )
    whole = parts[0].data.reset_coords()
    for part in parts[1:]:
        _check_overlap(whole, part.data)
        whole = whole.combine_first(part.data.reset_coords())
    own = ("reliability", "stopped") if len(parts) > 1 else ()
    return Map(
        whole.set_coords(list(beside)).transpose(..., *HEAD_DIMS, missing_dims="ignore"),
        {name: fact for name, fact in parts[0].provenance.items() if name not in own},
    )


def _check_overlap(one: xr.Dataset, other: xr.Dataset) -> None:
    for name in set(one.data_vars) & set(other.data_vars):
        a, b = xr.align(one[name], other[name], join="inner")
        both = np.isfinite(a) & np.isfinite(b)
        if not np.allclose(a.where(both, 0), b.where(both, 0), rtol=1e-3, atol=1e-6):
            raise MapError(f"the parts of a map contradict each other in '{name}'.")
