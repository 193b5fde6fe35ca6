"""Model and task of a stored map, loaded again and compared with what the map was made from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headatlas.errors import HeadAtlasError

if TYPE_CHECKING:
    from pathlib import Path

    from headatlas.cli.options import FileOptions, ModelOptions
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.tasks import Task


def gating_maps(folder: Path, task: str | None = None) -> dict[str, Map]:
    """The gating maps of a run's folder by name, or those of one task."""
    from headatlas.maps import load_map
    from headatlas.maps.roles import is_gating
    from headatlas.runs.store import list_maps

    maps = {name: load_map(path) for name, path in list_maps(folder).items()}
    found = {name: each for name, each in maps.items() if is_gating(each)}
    if not found:
        raise HeadAtlasError(f"there is no map of gating in {folder}: run 'headatlas gate' first.")
    if task is None:
        return found
    chosen = {name: each for name, each in found.items() if each.provenance["task"] == task}
    if not chosen:
        have = ", ".join(dict.fromkeys(str(each.provenance["task"]) for each in found.values()))
        raise HeadAtlasError(f"there is no gating map of '{task}' in {folder}: it has {have}.")
    return chosen


def model_of(drawn: Map, options: ModelOptions) -> Model:
    """The model that a map was made from; another one is a mistake."""
    made_from = str(drawn.provenance["model"])
    if options.model == type(options)().model:  # nothing was named: the map knows
        options = replace(options, model=made_from)
    model = options.load()
    if model.fingerprint != drawn.provenance["model_hash"]:
        raise HeadAtlasError(
            f"{options.model} is not the model that this map was made from ({made_from}): its "
            "weights, settings or tokenizer differ. Name the right one with --model."
        )
    return model


def task_of(drawn: Map, model: Model, files: FileOptions, download: bool) -> Task:
    """The task that a map was made from; another content is a mistake."""
    name = str(drawn.provenance["task"])
    task = files.load(name, download).for_tokenizer(model.tokenizer)
    if task.hash != drawn.provenance["task_hash"]:
        raise HeadAtlasError(
            f"the task '{name}' is not what this map was made from: its questions, or how they are "
            "read, have changed."
        )
    return task
