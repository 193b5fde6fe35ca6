"""Does a map of functions, which only reads, say what removing heads does? Three kinds of map."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

from headatlas.stats.agreement import agreement

if TYPE_CHECKING:
    import xarray as xr

    from headatlas.maps import Map

KINDS = ("probing", "ablation", "gating")


def compare_kinds(
    probing: Map, ablation: Map, gating: Mapping[str, Map], top_k: int = 20
) -> list[dict[str, Any]]:
    """Agreement of the three kinds of map of every function, pair by pair, as plain data.

    Compared are importance, the fall of the target's log-probability when a head is removed, and
    facilitation, each averaged over seeds. `spearman` is over all heads, `within` the same with
    every layer's mean taken off: what is left when depth alone is not counted. Intervals are over
    heads.
    """
    reading = probing.aggregate("mean", skip_missing=True)["importance"]
    removing = -ablation.aggregate("mean", skip_missing=True)["effect"]
    both = [str(name) for name in reading["function"].to_numpy()]
    both = [name for name in both if name in removing["function"].to_numpy() and name in gating]
    rows = []
    for name in both:
        kinds = {
            "probing": reading.sel(function=name, drop=True),
            "ablation": removing.sel(function=name, drop=True),
            "gating": gating[name].aggregate("mean", skip_missing=True)["facilitation"],
        }
        for one, other in combinations(KINDS, 2):
            rows.append(
                {"function": name, "pair": [one, other], **_agree(kinds, one, other, top_k)}
            )
    return rows


def _agree(kinds: Mapping[str, xr.DataArray], one: str, other: str, top_k: int) -> dict[str, Any]:
    plain = agreement(kinds[one], kinds[other], top_k=top_k)
    within = agreement(_off_depth(kinds[one]), _off_depth(kinds[other]), top_k=top_k)
    return {
        "spearman": plain.spearman,
        "low": plain.spearman_interval[0],
        "high": plain.spearman_interval[1],
        "within": within.spearman,
        "within_low": within.spearman_interval[0],
        "within_high": within.spearman_interval[1],
        "top_k": plain.top_k,
        "top_overlap": plain.top_overlap,
        "top_low": plain.top_interval[0],
        "top_high": plain.top_interval[1],
        "top_expected": plain.top_expected,
        "heads": plain.heads,
    }


def _off_depth(values: xr.DataArray) -> xr.DataArray:
    return values - values.mean("head", skipna=True)
