"""A unit of work: plain data that names everything its result depends on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headatlas.maps.naming import group_hash, short_hash

if TYPE_CHECKING:
    from headatlas.methods.method import Method, Subject
    from headatlas.models.model import Model


@dataclass(frozen=True)
class Unit:
    """One part of one method on one task and model, for one seed.

    Two units with the same key have the same result, whoever computes them and wherever.
    """

    model_hash: str
    task_hash: str
    method: str
    method_version: int
    settings: dict[str, Any]
    seed: int
    part: dict[str, Any]

    @property
    def group(self) -> str:
        """Hash of what units of one map share: everything but seed and part."""
        return group_hash(
            self.model_hash, self.task_hash, self.method, self.method_version, self.settings
        )

    @property
    def key(self) -> str:
        """The name of the unit's file."""
        return f"{self.group}-{short_hash([self.seed, self.part])}"


def cut(model: Model, task: Subject, method: Method[Subject], seeds: Iterable[int]) -> list[Unit]:
    """The units of a method on a task, which is one for the model's tokenizer."""
    return [
        Unit(
            model.fingerprint,
            task.hash,
            method.name,
            method.version,
            method.settings(),
            seed,
            part,
        )
        for seed in seeds
        for part in method.parts(model.spec)
    ]
