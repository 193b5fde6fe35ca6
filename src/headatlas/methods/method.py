"""What every method has in common."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from headatlas.methods.baseline import Baseline, measure_baseline
from headatlas.tasks import Task

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.models.spec import ModelSpec

BASELINE_QUESTIONS = 64
"""Questions that decide whether a map carries the warning of a task at chance level."""

PACKAGES = ("headatlas", "torch", "transformers", "tokenizers", "numpy")

Report = Callable[[str], None]
"""Called after every step with a few words on where the work is, so that progress can be shown."""

Asked = Any
"""What a method is run on: a `Task`, or for contrast `TaskPairs`. It has a name and a hash."""

Part = dict[str, Any]
"""Plain data that names a piece of the work; the pieces together are the whole map."""


class Settled(Protocol):
    """What has a name and settings."""

    name: ClassVar[str]
    version: ClassVar[int]

    def settings(self) -> dict[str, Any]:
        """Every setting that determines the numbers, as plain data."""
        ...


class Method(Settled, Protocol):
    """Frozen settings with `run(model, task, seed)`; a method keeps no state.

    `version` goes up when the same settings would give other numbers.
    """

    variable: ClassVar[str]

    def parts(self, spec: ModelSpec) -> list[Part]:
        """The pieces that the work is cut into, so that it can be interrupted between them."""
        ...

    def reports(self, part: Part) -> int:
        """How often `run` reports on a part."""
        ...

    def check(self, model: Model, task: Asked, seeds: int = 1) -> list[str]:
        """Raise if the task cannot be used with so many seeds; give remarks for the user."""
        ...

    def run(
        self,
        model: Model,
        task: Asked,
        seed: int = 0,
        *,
        part: Part | None = None,
        report: Report | None = None,
    ) -> Map: ...


def provenance(model: Model, task: Task, method: Method, seed: int) -> dict[str, Any]:
    """Where the numbers of a map come from, except what differs between equal runs.

    `task_warning` stands there when the untouched model is at chance level on the task.
    """
    baseline = task_baseline(model, task)
    notes = {"task_warning": baseline.warning(), "task_remarks": list(task.remarks)}
    return {
        **origin(model, method, seed),
        "task": task.name,
        "task_hash": task.hash,
        "task_form": str(task.form),
        "task_accuracy": baseline.accuracy,
        "task_chance": baseline.chance,
        **{key: note for key, note in notes.items() if note},
    }


def origin(model: Model, method: Settled, seed: int) -> dict[str, Any]:
    """The part of a map's provenance that has nothing to do with the task."""
    return {
        "model": model.spec.name,
        "model_hash": model.fingerprint,
        "architecture": model.spec.architecture,
        "dtype": model.spec.dtype,
        "attn_implementation": model.spec.attn_implementation,
        "method": method.name,
        "method_version": method.version,
        "settings": method.settings(),
        "seed": seed,
        "packages": package_versions(),
    }


def task_baseline(model: Model, task: Task) -> Baseline:
    """What the untouched model makes of the task, as far as a map needs it."""
    return measure_baseline(model, task, limit=BASELINE_QUESTIONS)


def package_versions() -> dict[str, str]:
    """Versions of the packages that a number may depend on."""
    return {package: version(package) for package in PACKAGES}
