"""Continue from stored results: `python tools/restore.py FOLDER`.

Writes every part of every seed of the maps in docs/results/, those of probing aside, as a finished
unit of its run in FOLDER, and the results of checks beside them; `make results RESULTS=FOLDER` then
computes only what is missing.
Replaces nothing. Layers that a map has in part are left out, and so are maps of another version of
their method: both are computed again.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import xarray as xr

from headatlas.maps import Map, load_map, save_map
from headatlas.maps.map import HEAD_DIMS
from headatlas.methods import METHODS
from headatlas.methods.method import Part
from headatlas.models.spec import LayerSpec, ModelSpec
from headatlas.runs.unit import Unit
from stored import RESULTS

NOT_RESTORED = ("probing",)
"""Methods that are computed from other maps, which are not stored."""

OF_THE_MAP = ("seeds", "reliability", "stopped", "unfinished", "diverged_seeds", "task_accuracy")
OF_THE_MAP += ("task_chance", "task_warning")
"""Facts that an assembled map has and its units have not."""


def units(head_map: Map) -> dict[str, Map]:
    """The units of a map, by the names of their files."""
    facts = {key: value for key, value in head_map.provenance.items() if key not in OF_THE_MAP}
    method = METHODS[facts["method"]]
    if method.version != facts["method_version"]:
        return {}
    names = ("model_hash", "task_hash", "method", "method_version", "settings")
    subject = {name: facts[name] for name in names}
    parts = method(**facts["settings"]).parts(_spec(head_map))
    return {
        f"{Unit(**subject, seed=seed, part=part).key}.nc": Map(data, facts | {"seed": seed})
        for seed in head_map["seed"].to_numpy().tolist()
        for part, data in _finished(head_map.data.sel(seed=[seed]), parts)
    }


def _finished(data: xr.Dataset, parts: list[Part]) -> Iterator[tuple[Part, xr.Dataset]]:
    """The parts whose heads a seed has, each with the numbers of these heads."""
    for part in parts:
        if "heads" not in part:
            yield part, data
            continue
        own = xr.zeros_like(data["kv_group"], dtype=bool)
        for layer, head in part["heads"]:
            own.loc[{"layer": layer, "head": head}] = True
        if _known(data).where(own, True).all():
            yield part, data.assign({name: v.where(own) for name, v in data.data_vars.items()})


def _known(data: xr.Dataset) -> xr.DataArray:
    """Which heads have a number: layer × head."""
    values = next(iter(data.data_vars.values()))
    return values.notnull().any([dim for dim in values.dims if dim not in HEAD_DIMS])


def _spec(head_map: Map) -> ModelSpec:
    """The heads of the model, as the map has them; it says nothing else of the model."""
    heads = (head_map["kv_group"].to_numpy() >= 0).sum(1)
    layers = [LayerSpec(int(n), int(n), 0, "", "", "") if n else None for n in heads]
    facts = head_map.provenance
    names = (str(facts["model"]), str(facts["architecture"]))
    return ModelSpec(*names, tuple(layers), 0, str(facts["dtype"]), "", None)


def restore(folder: Path) -> int:
    """Write the units that FOLDER does not have; how many those were."""
    written = 0
    for path in sorted(RESULTS.glob("*/maps/[!.]*.nc")):
        head_map = load_map(path)
        if head_map.provenance["method"] in NOT_RESTORED:
            continue
        target = folder / path.parts[-3] / "units"
        target.mkdir(parents=True, exist_ok=True)
        for name, unit in units(head_map).items():
            if not (target / name).exists():
                save_map(unit, target / name)
                written += 1
    for path in sorted(RESULTS.glob("*/checks/*.json")):
        target = folder / path.relative_to(RESULTS)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    return written


if __name__ == "__main__":
    print(f"restored {restore(Path(sys.argv[1]))} units")
