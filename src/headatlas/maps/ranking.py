"""The most important heads of a map, with intervals and p-values corrected for all heads.

| map | ranked by | interval | p-value |
|---|---|---|---|
| ablation | fall of log P when the head is removed | over questions | Student's t, Holm |
| gating | mean facilitation over seeds | bootstrap over seeds (5 or more) | heads shuffled |
| contrast | 1 − mean gate | the same | the same |
| probing | mean importance, per function | of the next seed | labels shuffled |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from headatlas.errors import MapError
from headatlas.maps.aggregate import next_interval
from headatlas.maps.functions import LEVEL, function_names, ranked_heads
from headatlas.maps.order import Head, heads_by
from headatlas.maps.roles import SCORES, THRESHOLD, check_gating, roles
from headatlas.stats.bootstrap import bootstrap_interval
from headatlas.stats.multiple import holm, student_p
from headatlas.stats.permutation import consistency_p

if TYPE_CHECKING:
    from headatlas.maps.map import Map

LEAST_SEEDS = 5
"""A bootstrap over fewer seeds than this says little: no interval is given."""

STANDARD = ("function", "rank", "layer", "head", "score", "low", "high", "p", "significant")
"""The columns that every table begins with; `function` only where there are functions."""


def ranked_table(head_map: Map, threshold: float = THRESHOLD) -> pd.DataFrame:
    """All heads, the most important first.

    Columns: `score` is what is ranked; `low` and `high` its 95 % interval (missing where the map
    cannot tell); `p` is corrected for the number of heads; `significant` says whether it is at most
    0.05. Further columns depend on the method.
    """
    for variable, table in _TABLES.items():
        if variable in head_map.variables:
            rows = table(_with_seeds(head_map), threshold)
            rows["significant"] = rows["p"] <= LEVEL
            first = [name for name in STANDARD if name in rows]
            return rows[[*first, *(name for name in rows if name not in STANDARD)]]
    have = ", ".join(head_map.variables)
    raise MapError(f"no importance of heads can be read from this map, which has {have}.")


def top_heads(head_map: Map, n: int = 10) -> pd.DataFrame:
    """The first `n` rows of the ranked table, per function where there are functions."""
    if n < 1:
        raise MapError(f"the number of heads to show is at least 1, not {n}.")
    table = ranked_table(head_map)
    table = table[[name for name in table if name in (*STANDARD, "role_always", "role_any")]]
    return table[table["rank"] <= n].reset_index(drop=True)


def _gating(head_map: Map, threshold: float) -> pd.DataFrame:
    check_gating(head_map, threshold)
    table = _over_seeds(head_map["facilitation"])
    for rule in ("always", "any"):
        table[f"role_{rule}"] = _at(roles(head_map, rule, threshold), table)
    for name in ("facilitation", "interference"):
        above = (head_map[name] >= threshold).sum("seed")
        table[f"seeds_{SCORES[name]}"] = _at(above, table).astype(int)
    aggregated = {rule: head_map.aggregate(rule) for rule in ("always", "any", "mean")}
    for name in SCORES:
        for rule, scores in aggregated.items():
            table[f"{name}_{rule}"] = _at(scores[name], table)
        table[f"{name}_low"], table[f"{name}_high"] = _bootstrap(head_map[name], table)
    return table


def _contrast(head_map: Map, threshold: float) -> pd.DataFrame:
    table = _over_seeds(1 - head_map["gate"])
    table["gate_mean"] = 1 - table["score"]
    return table


def _effects(head_map: Map, threshold: float) -> pd.DataFrame:
    from scipy.stats import t

    mean = head_map.aggregate("mean")
    facts = head_map.provenance
    functions = function_names(head_map) if "function" in head_map.data.dims else [None]
    tables = []
    for name in functions:
        own = mean.data if name is None else mean.data.sel(function=name)
        count = facts.get("questions_used", 2) if name is None else own["questions"]
        df = int(count) - 1
        table = _frame(heads_by(-own["effect"]))
        table["score"] = -_at(own["effect"], table)
        se = _at(own["effect_se"], table)
        half_width = float(t.ppf(0.975, max(df, 1))) * se
        table["low"], table["high"] = table["score"] - half_width, table["score"] + half_width
        table["p"] = student_p(table["score"].to_numpy(), se, df)
        table["effect"], table["effect_se"] = -table["score"], se
        if name is not None:
            table["function"] = name
        tables.append(table)
    rows = pd.concat(tables, ignore_index=True)
    rows["p"] = holm(rows["p"].to_numpy())
    return rows


def _importance(head_map: Map, threshold: float) -> pd.DataFrame:
    bounds = next_interval(head_map["importance"])
    mean = head_map["importance"].mean("seed")
    p = head_map["importance_p"].max("seed")
    tables = []
    for name, ranked in ranked_heads(head_map).items():
        table = _frame(list(ranked.heads))
        table["function"] = name
        table["score"] = _at(mean.sel(function=name), table)
        table["low"], table["high"] = (
            _at(bounds.sel(function=name, bound=bound), table) for bound in ("lower", "upper")
        )
        table["p"] = _at(p.sel(function=name), table)
        table["before_elbow"] = table["rank"] <= ranked.elbow
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


_TABLES: dict[str, Callable[[Map, float], pd.DataFrame]] = {
    "facilitation": _gating,
    "importance": _importance,
    "effect": _effects,
    "gate": _contrast,
}
"""How maps are ranked, by a variable that only they have."""


def _with_seeds(head_map: Map) -> Map:
    """The map with a dimension `seed`, also if it is of one seed or already aggregated."""
    if "seed" in head_map.data.dims:
        return head_map
    return replace(head_map, data=head_map.data.expand_dims("seed"))


def _over_seeds(scores: xr.DataArray) -> pd.DataFrame:
    """Heads by their mean score over seeds, with what the seeds say about it."""
    table = _frame(heads_by(scores.mean("seed")))
    table["score"] = _at(scores.mean("seed"), table)
    table["low"], table["high"] = _bootstrap(scores, table)
    values = np.stack([_at(one, table) for one in scores.transpose("seed", ...)])  # seed head
    table["p"] = consistency_p(values)
    return table


def _bootstrap(scores: xr.DataArray, table: pd.DataFrame) -> tuple[Any, Any]:
    if scores.sizes["seed"] < LEAST_SEEDS:
        return np.nan, np.nan
    bounds = bootstrap_interval(scores)
    return _at(bounds.sel(bound="lower"), table), _at(bounds.sel(bound="upper"), table)


def _frame(heads: list[Head]) -> pd.DataFrame:
    table = pd.DataFrame(heads, columns=["layer", "head"])
    table.insert(0, "rank", np.arange(1, len(heads) + 1))
    return table


def _at(values: xr.DataArray, table: pd.DataFrame) -> np.ndarray[Any, Any]:
    """The values (layer × head) of the heads of a table, in its order."""
    layers, heads = (xr.DataArray(table[dim].to_numpy(), dims="row") for dim in ("layer", "head"))
    return values.sel(layer=layers, head=heads).to_numpy()
