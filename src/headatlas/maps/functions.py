"""How many heads count: the elbow of the sorted curve, and what chance does not reach."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headatlas.maps.aggregate import next_interval

if TYPE_CHECKING:
    import xarray as xr

    from headatlas.maps.map import Map

LEVEL = 0.05


@dataclass(frozen=True)
class HeadCount:
    """Heads of a function: before the elbow, beyond what shuffled labels give in every seed, and
    both."""

    elbow: int
    significant: int
    both: int


def is_probing(drawn: Map) -> bool:
    """Whether a map tells the importance of heads for functions."""
    return {"importance", "importance_p"} <= set(drawn.variables)


def head_counts(drawn: Map, level: float = LEVEL) -> dict[str, HeadCount]:
    """How many heads count for every function of a probing map, by two rules."""
    counts = {}
    for name, ranked in ranked_heads(drawn).items():
        beyond = (drawn["importance_p"].sel(function=name).max("seed") <= level).to_numpy()
        both = sum(bool(beyond[head]) for head in ranked.chosen)
        counts[name] = HeadCount(ranked.elbow, int(beyond.sum()), both)
    return counts


def function_table(drawn: Map, level: float = LEVEL) -> list[dict[str, int | float | str]]:
    """One row a function and head, the most important first: mean importance over seeds, where
    the next seed's is expected (95 %), the p-value that holds in all seeds, and both rules."""
    bounds = next_interval(drawn["importance"])
    mean = drawn["importance"].mean("seed")
    p = drawn["importance_p"].max("seed")
    rows: list[dict[str, int | float | str]] = []
    for name, ranked in ranked_heads(drawn).items():
        own = {"function": name}
        for rank, (layer, head) in enumerate(ranked.heads, start=1):
            at = {"layer": layer, "head": head}
            low, high = bounds.sel(own).isel(at).to_numpy().tolist()
            rows.append(
                {
                    **own,
                    **at,
                    "rank": rank,
                    "importance_mean": float(mean.sel(own).isel(at)),
                    "next_seed_low": "" if low != low else low,
                    "next_seed_high": "" if high != high else high,
                    "null_p": float(p.sel(own).isel(at)),
                    "before_elbow": int(rank <= ranked.elbow),
                    "beyond_chance": int(bool(p.sel(own).isel(at) <= level)),
                }
            )
    return rows


@dataclass(frozen=True)
class Ranked:
    """A function's heads, the most important first; the first `elbow` lie before the bend."""

    heads: tuple[tuple[int, int], ...]
    elbow: int

    @property
    def chosen(self) -> list[tuple[int, int]]:
        return list(self.heads[: self.elbow])


def ranked_heads(drawn: Map) -> dict[str, Ranked]:
    """Every function's heads in the order of their mean importance."""
    mean = drawn.aggregate("mean", skip_missing=True)["importance"]
    found = {}
    for name in mean["function"].to_numpy():
        values = mean.sel(function=name)
        found[str(name)] = Ranked(tuple(top_heads(values, values.size)), elbow(values))
    return found


def elbow(values: xr.DataArray) -> int:
    """Heads before the bend of the sorted curve: the point farthest below the line from the first
    to the last.

    >>> import xarray as xr
    >>> elbow(xr.DataArray([[9.0, 8.0, 0.3], [0.2, 0.1, 0.0]], dims=("layer", "head")))
    2
    """
    curve = np.sort(values.to_numpy()[np.isfinite(values.to_numpy())])[::-1]
    if len(curve) < 3 or curve[0] == curve[-1]:
        return 0
    x = np.linspace(0, 1, len(curve))
    y = (curve - curve[-1]) / (curve[0] - curve[-1])
    return int(np.argmax(1 - x - y))


def top_heads(values: xr.DataArray, count: int) -> list[tuple[int, int]]:
    """The heads with the largest values, ties in reading order."""
    flat = np.nan_to_num(values.to_numpy(), nan=-np.inf).ravel()
    order = np.argsort(-flat, kind="stable")[:count]
    return [
        (int(layer), int(head))
        for layer, head in zip(*np.unravel_index(order, values.shape), strict=True)
        if np.isfinite(values.to_numpy()[layer, head])
    ]
