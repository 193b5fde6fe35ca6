"""The scores of a map's heads as files for other programs.

| suffix | holds | for |
|---|---|---|
| `.json` | one score per head, as a circuit file of EAP-IG | EAP-IG, MIB, any script |
| `.csv` | one row per head: score, interval, p-value | tables |
| `.safetensors` | every variable of the map, with all its axes | arrays |

Scores are those that the map is ranked by (`maps.ranking`): larger means more important. Every
finite score is written with all its digits. A head without a score (NaN), because it does not exist
or was not measured, has no row in `.csv`, and is listed under `missing` in `.json`. An infinite
score has no place among finite ones: it raises. `.safetensors` has the map's own numbers as they
are, NaN and infinite ones too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from headatlas.atomic import replacing, write_text
from headatlas.errors import MapError
from headatlas.maps.importance import importance_of
from headatlas.maps.order import heads_by
from headatlas.maps.ranking import ranked_table, ranking_of

if TYPE_CHECKING:
    import pandas as pd

    from headatlas.maps.map import Map


Cfg = Mapping[str, Any]


def save_scores(
    head_map: Map, path: str | Path, *, function: str | None = None, cfg: Cfg | None = None
) -> Path:
    """Write the scores of a map's heads; the suffix chooses the format, see `maps.scores`.

    `function` takes those of one function. `cfg` is written into a `.json` file: EAP-IG needs the
    model's `d_model` and `parallel_attn_mlp`, which a map does not know. The file appears whole or
    not at all.

    >>> head_map = load_map("atlas/maps/gpt2.ioi.ablation-848d5fa3.nc")  # doctest: +SKIP
    >>> cfg = {"d_model": 768, "parallel_attn_mlp": False}
    >>> save_scores(head_map, "ioi.json", cfg=cfg)  # doctest: +SKIP
    """
    path = Path(path)
    if path.suffix not in _WRITERS:
        raise MapError(
            f"scores cannot be written as '{path.name}': end its name in {', '.join(_WRITERS)}."
        )
    if cfg and path.suffix != ".json":
        raise MapError(f"{', '.join(cfg)} can only be written into a .json file, not {path.name}.")
    if function is not None:
        have = [str(name) for name in head_map.data.get("function", xr.DataArray([])).to_numpy()]
        if function not in have:
            raise MapError(
                f"no function '{function}' in this map: it has {', '.join(have) or 'none'}."
            )
    return _WRITERS[path.suffix](head_map, path, function, cfg or {})


def circuit(head_map: Map, function: str | None, cfg: Cfg) -> dict[str, Any]:
    """The scores as EAP-IG's `Graph.to_json` writes a graph whose nodes are scored.

    It is the format of `src/eap/graph.py` in hannamw/EAP-IG at commit 8fd10d9, the code behind the
    circuit track of MIB (Mueller et al., arXiv 2504.13151): `cfg`, `nodes` and `edges`, with heads
    named `a{layer}.h{head}`. Left out is what a map of heads does not have: all edges, and the
    nodes `input`, `m{layer}` and `logits`. `Graph.from_json` gives unlisted nodes the score NaN,
    which `apply_topn(level="node")` always keeps. `in_graph` is false everywhere, since no circuit
    is chosen yet. Scores are signed: call `apply_topn` with `absolute=False`. `Graph.from_json`
    needs `d_model` and `parallel_attn_mlp` in `cfg`.

    `scores` repeats the scores by name alone, and `missing` names the heads without one; they,
    `score` and `provenance` are additions, which EAP-IG does not look at.
    """
    data = head_map.data
    for dim in ("layer", "head"):
        if data[dim].to_numpy().tolist() != list(range(data.sizes[dim])):
            raise MapError(f"a .json file is written from a whole map, and this one lacks a {dim}.")
    table = _table(head_map, function)
    if "function" in table and table["function"].nunique() > 1:
        have = ", ".join(table["function"].unique())
        raise MapError(f"a .json file has one score per head: choose a function from {have}.")
    scores = {
        row.name: float(row.score)
        for row in table.sort_values(["layer", "head"])[["name", "score"]].itertuples(index=False)
    }
    names = [_name(layer, head) for layer in data["layer"].values for head in data["head"].values]
    return {
        "cfg": {"n_layers": data.sizes["layer"], "n_heads": data.sizes["head"], **cfg},
        "nodes": {name: {"in_graph": False, "score": score} for name, score in scores.items()},
        "edges": {},
        "scores": scores,
        "missing": [name for name in names if name not in scores],
        "score": ranking_of(head_map).score,
        "provenance": dict(head_map.provenance) | ({"function": function} if function else {}),
    }


def _name(layer: int, head: int) -> str:
    """What EAP-IG calls a head."""
    return f"a{layer}.h{head}"


def _check_finite(head_map: Map) -> None:
    """Raise if a score is infinite, of any function: the ranked table would leave it out as if it
    were missing."""
    values = head_map[importance_of(head_map).variable]
    infinite = abs(values) == np.inf
    if "seed" in values.dims:
        with np.errstate(over="ignore", invalid="ignore"):  # the mean of finite ones may overflow
            infinite = infinite.any("seed") | (abs(values.mean("seed")) == np.inf)
    infinite = infinite.any([dim for dim in infinite.dims if dim not in ("layer", "head")])
    heads = heads_by(infinite.where(infinite))
    if heads:
        raise MapError(
            f"the scores of {len(heads)} heads are infinite, first of {_name(*heads[0])}: write "
            ".safetensors instead, which has every number as it is."
        )


def _table(head_map: Map, function: str | None) -> pd.DataFrame:
    """The ranked table with the names of heads and their key/value heads."""
    _check_finite(head_map)
    table = ranked_table(head_map)
    names = list(map(_name, table["layer"], table["head"]))
    table.insert(table.columns.get_loc("head") + 1, "name", names)
    if "kv_group" in head_map.data.coords:
        places = {dim: xr.DataArray(table[dim].to_numpy(), dims="row") for dim in ("layer", "head")}
        groups = head_map["kv_group"].sel(places).to_numpy().astype(int)
        table.insert(table.columns.get_loc("name") + 1, "kv_group", groups)
    return table if function is None else table[table["function"] == function]


def _write_json(head_map: Map, path: Path, function: str | None, cfg: Cfg) -> Path:
    return write_text(path, _json(circuit(head_map, function, cfg)))


def _write_csv(head_map: Map, path: Path, function: str | None, cfg: Cfg) -> Path:
    return write_text(path, _table(head_map, function).to_csv(index=False))


def _write_safetensors(head_map: Map, path: Path, function: str | None, cfg: Cfg) -> Path:
    """All variables by name, layer × head last.

    The metadata has one key, as safetensors writes several in any order: `headatlas`, a JSON object
    of every variable's `dims`, every dimension's `labels`, and the `provenance`.
    """
    from safetensors.numpy import save_file

    data = head_map.data if function is None else head_map.sel(function=[function]).data
    tensors = {str(name): np.ascontiguousarray(data[name].to_numpy()) for name in data.data_vars}
    described = {
        "dims": {name: list(data[name].dims) for name in tensors},
        "labels": {str(dim): data[dim].to_numpy().tolist() for dim in data.dims},
        "provenance": dict(head_map.provenance),
    }
    with replacing(path) as temporary:
        save_file(tensors, temporary, {"headatlas": _json(described)})
    return path


def _json(content: Any) -> str:
    """JSON for strict readers: what is not a number (NaN, ∞) is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: plain(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [plain(part) for part in value]
        return None if isinstance(value, float) and not np.isfinite(value) else value

    return json.dumps(plain(content), ensure_ascii=False, allow_nan=False)


_WRITERS: dict[str, Callable[[Map, Path, str | None, Cfg], Path]] = {
    ".json": _write_json,
    ".csv": _write_csv,
    ".safetensors": _write_safetensors,
}
