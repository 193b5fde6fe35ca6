"""Model and task of a stored map, loaded again and compared with what the map was made from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headatlas.cli.options import ModelOptions
from headatlas.cli.screen import note
from headatlas.errors import HeadAtlasError, TaskError

if TYPE_CHECKING:
    from pathlib import Path

    from headatlas.cli.options import FileOptions
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.tasks import Task


@dataclass(frozen=True)
class StoredModelOptions(ModelOptions):
    """Which model: the one that a map was made from, unless another place is named."""

    model: Annotated[
        str, typer.Option("--model", "-m", help="Where the map's model is, if not as the map says.")
    ] = ""

    def load_for(self, drawn: Map) -> Model:
        """The map's model, in the number format and with the kernel that it was mapped in."""
        facts = drawn.provenance
        options = ModelOptions(
            model=self.model or str(facts["model"]),
            device=self.device,
            dtype=self.dtype or str(facts["dtype"]),
            attn_implementation=self.attn_implementation or str(facts["attn_implementation"]),
            device_map=self.device_map,
            download=self.download,
        )
        return options.load()


def gating_maps(folder: Path, name: str | None = None) -> dict[str, Map]:
    """The gating maps of a run's folder by file name, or the one that is named."""
    from headatlas.maps.roles import is_gating

    found = {file: each for file, each in _stored(folder, name).items() if is_gating(each)}
    if not found:
        raise HeadAtlasError(f"there is no map of gating in {folder}: run 'headatlas gate' first.")
    return found


def checkable_maps(folder: Path, name: str | None = None) -> dict[str, Map]:
    """The maps of a run's folder that have checks, or the one that is named."""
    from headatlas.maps.roles import is_gating
    from headatlas.maps.functions import is_probing

    found = {
        file: each
        for file, each in _stored(folder, name).items()
        if is_gating(each) or is_probing(each)
    }
    if not found:
        raise HeadAtlasError(
            f"there is no map of gating or probing in {folder}: run 'headatlas gate' or 'headatlas "
            "probe' first."
        )
    return found


def _stored(folder: Path, name: str | None) -> dict[str, Map]:
    from headatlas.maps import load_map
    from headatlas.runs.store import list_maps

    paths = list_maps(folder)
    if name is not None and name not in paths:
        raise HeadAtlasError(f"no map '{name}' in {folder}: it holds {', '.join(paths)}.")
    return {file: load_map(path) for file, path in paths.items() if name in (None, file)}


def of_tasks(maps: dict[str, Map], tasks: list[Task], folder: Path) -> dict[str, Map]:
    """The maps that have the names of some tasks; a name without a map is a mistake."""
    for task in tasks:
        if not any(each.provenance["task"] == task.name for each in maps.values()):
            have = ", ".join(dict.fromkeys(str(each.provenance["task"]) for each in maps.values()))
            raise HeadAtlasError(
                f"there is no such map of '{task.name}' in {folder}: it has {have}."
            )
    names = {task.name for task in tasks}
    return {file: each for file, each in maps.items() if each.provenance["task"] in names}


def load_verified_for(drawn: Map, options: StoredModelOptions) -> Model:
    """The model of a map, verified; another one is a mistake."""
    from headatlas.cli.screen import waiting
    from headatlas.models.heads.verify import require_verified

    model = options.load_for(drawn)
    facts = drawn.provenance
    if model.fingerprint != facts["model_hash"]:
        raise HeadAtlasError(
            f"{model.spec.name} is not the model that this map was made from ({facts['model']}, "
            f"{facts['dtype']}, kernel {facts['kernel']}): weights, number format, kernel or "
            "tokenizer differ. Say where the right one is with --model."
        )
    with waiting("verifying edits of single heads"):
        require_verified(model)
    return model


def task_of(drawn: Map, model: Model, tasks: list[Task], files: FileOptions) -> Task | None:
    """The task that a map was made from, among those given or the built-in ones.

    A map whose task is not at hand, or has changed, is passed over with a word.
    """
    facts: Any = drawn.provenance
    given = [each for each in tasks if each.name == facts["task"]]
    if not given:
        try:
            given = [files.load(str(facts["task"]), download=False)]
        except TaskError:
            note(f"the map of '{facts['task']}' was made from a file: name it with --task")
            return None
    for each in given:
        task = each.for_tokenizer(model.tokenizer)
        if task.hash == facts["task_hash"]:
            return replace(task, name=str(facts["task"]))
    note(f"a map of '{facts['task']}' was made from other questions than the task has now")
    return None
