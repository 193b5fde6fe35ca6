"""A unit of work: plain data that names everything its result depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.methods.method import Asked, Method, Report
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
        return _hash(
            [self.model_hash, self.task_hash, self.method, self.method_version, self.settings]
        )

    @property
    def key(self) -> str:
        """The name of the unit's file."""
        return f"{self.group}-{_hash([self.seed, self.part])}"


def cut(model: Model, task: Asked, method: Method, seeds: Iterable[int]) -> list[Unit]:
    """The units of a method on a task."""
    task = task.for_tokenizer(model.tokenizer)
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


def compute(unit: Unit, model: Model, task: Asked, method: Method, report: Report) -> Map:
    """The result of a unit."""
    return method.run(model, task, unit.seed, part=unit.part, report=report)


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:20]
