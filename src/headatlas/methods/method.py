"""What every method has in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar, cast

from headatlas.errors import HeadAtlasError
from headatlas.maps import head_coordinates
from headatlas.models.heads.verify import require_verified
from headatlas.tasks import Task
from headatlas.tasks.pairs import TaskPairs

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.models.spec import ModelSpec

PACKAGES = ("headatlas", "torch", "transformers", "tokenizers", "numpy")

Report = Callable[[str], None]
"""Called after every step with a few words on where the work is, so that progress can be shown."""

Part = dict[str, Any]
"""Plain data that names a part of a seed's work; the parts together are the whole map."""

Inputs = Mapping[str, Sequence["Map"]]
"""Maps that a method is computed from, by the name of the method that made them."""

Subject = TypeVar("Subject", bound=Task | TaskPairs, contravariant=True)
"""What a method is run on: a `Task`, or `TaskPairs` for contrast."""


class Method(Protocol[Subject]):
    """A frozen dataclass of settings with `run(model, task, seed)`; a method keeps no state.

    `version` goes up when the same settings would give other numbers. `variable` is the variable of
    the map that ranks heads; `subject` the type of what the method is run on. A method of your own
    runs like those of the package.

    >>> import headatlas as ha
    >>> [method.name for method in (ha.Ablation(), ha.Gating())]
    ['ablation', 'gating']
    """

    name: ClassVar[str]
    version: ClassVar[int]
    variable: ClassVar[str]
    subject: ClassVar[type]

    def settings(self) -> dict[str, Any]:
        """Every setting that determines the numbers, as plain data."""
        settings = asdict(cast("Any", self))
        return {key: list(v) if isinstance(v, tuple) else v for key, v in settings.items()}

    def inputs(self) -> Sequence[Method[Any]]:
        """Methods whose maps this one is computed from, so that they can be kept and shared."""
        return ()

    def parts(self, spec: ModelSpec) -> list[Part]:
        """The parts that a seed is cut into, so that it can be interrupted between them."""
        return [{}]

    def reports(self, part: Part) -> int:
        """How often `run` reports on a part."""
        ...

    def forward_passes(self, model: Model, examples: int) -> float:
        """Forward passes of one example that a seed takes on a number of examples; NaN if unknown.

        Those that read what replaces heads count too (the mean over fewer training examples, if the
        task has fewer). Where answers are compared, every answer of an example counts as one. A
        pass with gradient counts as two, one that begins in the middle by the layers that it has.
        Where it depends on the numbers this is the most; the map's `forward_passes` counts.
        """
        return math.nan

    def check(self, model: Model, task: Subject, seeds: int = 1) -> list[str]:
        """Raise if the task cannot be used with this number of seeds; give remarks for the user."""
        return []

    def run(
        self,
        model: Model,
        task: Subject,
        seed: int = 0,
        *,
        part: Part | None = None,
        report: Report | None = None,
        inputs: Inputs | None = None,
    ) -> Map:
        """The map of one seed, or of one part of it; refuses a model that fails verification.

        `inputs` are the maps of the methods that `inputs()` names; without them they are computed.
        """
        ...


def provenance(
    model: Model, task: Task | TaskPairs, method: Method[Any], seed: int
) -> dict[str, Any]:
    """Where the numbers of a map come from, except what differs between equal runs."""
    facts: dict[str, Any] = {
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
        "task": task.name,
        "task_hash": task.hash,
    }
    if isinstance(task, Task):
        facts["task_form"] = str(task.form)
    if task.remarks:
        facts["task_remarks"] = list(task.remarks)
    return facts


def verified_coordinates(model: Model, seed: int) -> dict[str, Any]:
    """Verify the model, and give the coordinates that every map of a seed has."""
    require_verified(model)
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise HeadAtlasError(f"seed must be a non-negative integer, not {seed!r}.")
    spec = model.spec
    return {"seed": [seed]} | head_coordinates(spec.kv_groups, (spec.n_layers, spec.n_heads))


def package_versions() -> dict[str, str]:
    """Versions of the packages that a number may depend on."""
    return {package: version(package) for package in PACKAGES}
