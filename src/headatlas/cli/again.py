"""Model and task of a stored map, loaded again and compared with what the map was made from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headatlas.errors import HeadAtlasError, TaskError

if TYPE_CHECKING:
    from pathlib import Path

    from headatlas.cli.options import FileOptions, ModelOptions
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.tasks import Task


def gating_maps(folder: Path, name: str | None = None) -> dict[str, Map]:
    """The gating maps of a run's folder by file name, or those of one task, by the task's name."""
    from headatlas.maps import load_map
    from headatlas.maps.roles import is_gating
    from headatlas.runs.store import list_maps

    maps = {path.stem: load_map(path) for path in list_maps(folder).values()}
    found = {file: each for file, each in maps.items() if is_gating(each)}
    if not found:
        raise HeadAtlasError(f"there is no map of gating in {folder}: run 'headatlas gate' first.")
    if name is None:
        return found
    chosen = {file: each for file, each in found.items() if each.provenance["task"] == name}
    if not chosen:
        have = ", ".join(dict.fromkeys(str(each.provenance["task"]) for each in found.values()))
        raise HeadAtlasError(f"there is no gating map of '{name}' in {folder}: it has {have}.")
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


def task_of(drawn: Map, model: Model, task: Task | None, files: FileOptions) -> Task:
    """The task that a map was made from: the one given, or the built-in one of its name."""
    name = str(drawn.provenance["task"])
    try:
        task = (task or files.load(name, download=False)).for_tokenizer(model.tokenizer)
    except TaskError as error:
        raise HeadAtlasError(
            f"the map of '{name}' was made from a file: name it with --task."
        ) from error
    if task.hash != drawn.provenance["task_hash"]:
        raise HeadAtlasError(
            f"the task '{name}' is not what this map was made from: its questions, or how they are "
            "read, have changed."
        )
    return task
