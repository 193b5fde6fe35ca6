"""Model and task of a stored map, loaded again and compared with what the map was made from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.models.load.embedded import EMBEDDED
from headatlas.models.load.loader import load_model
from headatlas.models.model import Model
from headatlas.tasks import Task, load_task

if TYPE_CHECKING:
    from headatlas.maps import Map


@dataclass(frozen=True)
class ModelSource:
    """Where a model comes from and how it is loaded; see `load_model`.

    Without a name, a new map is made with the embedded model, and a stored map is checked with the
    model that it was made from.
    """

    name: str | None = None
    device: str | None = None
    dtype: str | None = None
    attn_implementation: str | None = None
    device_map: str | dict[str, Any] | None = None
    download: bool = False

    def load(self) -> Model:
        """The model for new maps."""
        return load_model(
            self.name or EMBEDDED,
            device=self.device,
            dtype=self.dtype,
            attn_implementation=self.attn_implementation,
            device_map=self.device_map,
            download=self.download,
        )

    def load_for(self, head_map: Map) -> Model:
        """The model of a stored map, in the number format and with the attention implementation
        that it was mapped in; raises if it is another one."""
        facts = head_map.provenance
        source = replace(
            self,
            name=self.name or str(facts["model"]),
            dtype=self.dtype or str(facts["dtype"]),
            attn_implementation=self.attn_implementation or str(facts["attn_implementation"]),
        )
        model = source.load()
        if model.fingerprint != facts["model_hash"]:
            raise HeadAtlasError(
                f"{model.spec.name} is not the model that this map was made from "
                f"({facts['model']}, {facts['dtype']}, {facts['attn_implementation']}): weights, "
                "number format, attention implementation or tokenizer differ. Name the right one "
                "with --model (model=)."
            )
        return model


def task_of(head_map: Map, model: Model, given: Task | None = None) -> Task:
    """The task that a map was made from: the given one, or the built-in one of its name.

    Raises `TaskError` if it is not at hand, or if its questions are not those of the map.
    """
    facts = head_map.provenance
    name = str(facts["task"])
    try:
        task = (given or load_task(name)).for_tokenizer(model.tokenizer)
    except TaskError:
        if given is not None:
            raise
        raise TaskError(
            f"the map of '{name}' was made from a file: give its path with --task (task=)."
        ) from None
    if task.hash == facts["task_hash"]:
        return replace(task, name=name)
    if task.name != name:
        raise TaskError(f"this map was made from the task '{name}', not from '{task.name}'.")
    raise TaskError(
        f"the questions of '{name}' have changed since this map was made: use the original file, "
        "or compute the map again."
    )
