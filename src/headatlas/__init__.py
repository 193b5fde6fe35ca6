"""Head Atlas: which attention heads a language model uses for which task, and how sure we are.

>>> import headatlas as ha
>>> atlas = ha.Atlas("atlas", model="smollm2-135m")
>>> gates = atlas.map(ha.Gating(), "singular-plural", seeds=10)  # doctest: +SKIP
>>> gates.top(3)  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headatlas.errors import DivergedError, HeadAtlasError, NotJudgedError, TaskError

if TYPE_CHECKING:
    from headatlas.checks.results import (
        ContrastCheck,
        Faithfulness,
        FunctionCheck,
        GatingCheck,
        Leaderboard,
        ProbeReport,
        Result,
        TaskSpecificity,
    )
    from headatlas.maps import Comparison, Map, Mediation, load_map
    from headatlas.maps import compare_maps as agreement
    from headatlas.methods import (
        Ablation,
        Attention,
        Attribution,
        Contrast,
        Gating,
        Knockout,
        Method,
        Patching,
        Probing,
        Writes,
    )
    from headatlas.methods.baseline import Baseline, measure_baseline
    from headatlas.models.edit import Edit
    from headatlas.models.heads.verify import verify
    from headatlas.models.load.adapter import export_adapter
    from headatlas.models.load.export import export_model
    from headatlas.models.load.loader import load_model
    from headatlas.models.model import Model
    from headatlas.plots import check_format, save_figure
    from headatlas.runs.atlas import Atlas
    from headatlas.runs.estimate import estimate
    from headatlas.runs.listing import list_figures, list_methods, list_models
    from headatlas.runs.preview import Preview, PromptPreview, check_file, preview
    from headatlas.runs.progress import Progress
    from headatlas.tasks import Example, FileReport, Task, list_tasks, load_task
    from headatlas.tasks.pairs import TaskPairs

__version__ = "0.1.0"

_HOMES = {
    "Ablation": "methods",
    "Atlas": "runs.atlas",
    "Attention": "methods",
    "Attribution": "methods",
    "Baseline": "methods.baseline",
    "Comparison": "maps",
    "Contrast": "methods",
    "ContrastCheck": "checks.results",
    "Edit": "models.edit",
    "Example": "tasks",
    "Faithfulness": "checks.results",
    "FileReport": "tasks",
    "FunctionCheck": "checks.results",
    "Gating": "methods",
    "GatingCheck": "checks.results",
    "Knockout": "methods",
    "Leaderboard": "checks.results",
    "Map": "maps",
    "Mediation": "maps",
    "Method": "methods",
    "Model": "models.model",
    "Preview": "runs.preview",
    "ProbeReport": "checks.results",
    "Patching": "methods",
    "Probing": "methods",
    "Progress": "runs.progress",
    "PromptPreview": "runs.preview",
    "Result": "checks.results",
    "Task": "tasks",
    "TaskPairs": "tasks.pairs",
    "TaskSpecificity": "checks.results",
    "Writes": "methods",
    "agreement": "maps:compare_maps",
    "check_file": "runs.preview",
    "check_format": "plots",
    "estimate": "runs.estimate",
    "export_adapter": "models.load.adapter",
    "export_model": "models.load.export",
    "list_figures": "runs.listing",
    "list_methods": "runs.listing",
    "list_models": "runs.listing",
    "list_tasks": "tasks",
    "load_map": "maps",
    "load_model": "models.load.loader",
    "load_task": "tasks",
    "measure_baseline": "methods.baseline",
    "preview": "runs.preview",
    "save_figure": "plots",
    "verify": "models.heads.verify",
}
"""Where the public names live: module, and after a colon the name there if it is another one."""

__all__ = [
    "Ablation",
    "Atlas",
    "Attention",
    "Attribution",
    "Baseline",
    "Comparison",
    "Contrast",
    "ContrastCheck",
    "DivergedError",
    "Edit",
    "Example",
    "Faithfulness",
    "FileReport",
    "FunctionCheck",
    "Gating",
    "GatingCheck",
    "HeadAtlasError",
    "Knockout",
    "Leaderboard",
    "Map",
    "Mediation",
    "Method",
    "Model",
    "NotJudgedError",
    "Patching",
    "Preview",
    "ProbeReport",
    "Probing",
    "Progress",
    "PromptPreview",
    "Result",
    "Task",
    "TaskError",
    "TaskPairs",
    "TaskSpecificity",
    "Writes",
    "agreement",
    "check_file",
    "check_format",
    "estimate",
    "export_adapter",
    "export_model",
    "list_figures",
    "list_methods",
    "list_models",
    "list_tasks",
    "load_map",
    "load_model",
    "load_task",
    "measure_baseline",
    "preview",
    "save_figure",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Load public names when they are first used, so that importing the package is quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'headatlas' has no attribute '{name}'")
    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(f"headatlas.{module}"), attribute or name)


def __dir__() -> list[str]:
    """The public names, also those that are not loaded yet."""
    return sorted({*globals(), *__all__})
