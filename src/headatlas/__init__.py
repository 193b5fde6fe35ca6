"""Head Atlas: which attention heads a language model uses for which task, and how sure we are.

>>> import headatlas as ha
>>> model = ha.load_model("smollm2-135m")  # doctest: +SKIP
>>> gates = ha.Gating(seeds=10).run(model, ha.load_task("singular-plural"))  # doctest: +SKIP
>>> gates.roles(rule="always")  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headatlas.errors import HeadAtlasError

if TYPE_CHECKING:
    from headatlas.maps import Map, agreement, load_map
    from headatlas.methods import Ablation, Gating, Probing
    from headatlas.models.edit import Edit
    from headatlas.models.load.export import export_model
    from headatlas.models.load.loader import load_model
    from headatlas.models.model import Model
    from headatlas.models.heads.verify import verify
    from headatlas.tasks import Example, Task, load_task

__version__ = "0.1.0"

__all__ = [
    "Ablation",
    "Edit",
    "Example",
    "Gating",
    "HeadAtlasError",
    "Map",
    "Model",
    "Probing",
    "Task",
    "agreement",
    "export_model",
    "load_map",
    "load_model",
    "load_task",
    "remove_heads",
    "verify",
]

_HOMES = {
    "Ablation": "headatlas.methods",
    "Edit": "headatlas.models.edit",
    "Example": "headatlas.tasks",
    "Gating": "headatlas.methods",
    "Map": "headatlas.maps",
    "Model": "headatlas.models.model",
    "Probing": "headatlas.methods",
    "Task": "headatlas.tasks",
    "agreement": "headatlas.maps",
    "export_model": "headatlas.models.load.export",
    "load_map": "headatlas.maps",
    "load_model": "headatlas.models.load.loader",
    "load_task": "headatlas.tasks",
    "remove_heads": "headatlas.models.edit",
    "verify": "headatlas.models.heads.verify",
}


def __getattr__(name: str) -> Any:
    """Load public names when they are first used, so that importing the package is quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'headatlas' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    """The public names, also those that are not loaded yet."""
    return sorted({*globals(), *__all__})
