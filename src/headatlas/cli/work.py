"""The way every method's command goes: check, load, verify, compute what is missing, draw."""

from __future__ import annotations

import platform
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.cli.screen import duration, note, progress_bar, stdout, waiting

if TYPE_CHECKING:
    from headatlas.cli.options import ModelOptions
    from headatlas.methods import Method
    from headatlas.models.model import Model
    from headatlas.tasks import Task


def load_verified(options: ModelOptions) -> tuple[Model, list[dict[str, Any]]]:
    """Load a model and put it through the checks; a model that fails is refused."""
    model = options.load()
    with waiting(f"verifying edits of single heads on {options.model}"):
        from headatlas.models.verify import require_verified

        checks = require_verified(model)
    return model, [asdict(check) for check in checks]


def run_method(
    model: Model,
    checks: list[dict[str, Any]],
    task: Task,
    method: Method,
    seeds: int,
    out: Path,
    figure: str = "heatmap",
) -> list[Path]:
    """Compute what is missing, assemble the map, draw its figure; give the files."""
    from headatlas.maps import load_map
    from headatlas.methods.method import package_versions, task_baseline
    from headatlas.runs.engine import run_units
    from headatlas.runs.store import Store, map_name, safe_name
    from headatlas.runs.unit import cut

    store = Store(out)
    task = task.for_tokenizer(model.tokenizer)
    units = cut(model, task, method, range(seeds))
    remarks = (*task.remarks, *method.check(model, task, seeds))
    store.open()
    for remark in remarks:
        note(remark)
    if not all(store.path(unit).is_file() for unit in units):
        with waiting(f"asking the untouched model {task.name}"):
            task_baseline(model, task)
    start = time.perf_counter()
    began = datetime.now(UTC).isoformat(timespec="seconds")
    total = sum(method.reports(unit.part) for unit in units)
    with progress_bar(f"{method.name} of {task.name}", total) as progress:
        outcome = run_units(units, model, task, method, store, progress)
    name = map_name(model.spec.name, task.name, method.name, units[0].group)
    path = store.assemble(units[0].group, name, task.name)
    figures = _draw(path, store.figures / safe_name(name), figure, method.variable)
    record = store.write_record(
        {
            "began": began,
            "seconds": round(time.perf_counter() - start, 3),
            "model": model.spec.as_dict() | {"hash": model.fingerprint},
            "device": str(model.hf.device),
            "checks": checks,
            "task": {"name": task.name, "hash": task.hash},
            "method": {"name": method.name, "settings": method.settings(), "seeds": seeds},
            "units": {"computed": outcome.computed, "skipped": outcome.skipped},
            "packages": package_versions(),
            "machine": {"python": platform.python_version(), "system": platform.platform()},
        }
    )
    if warning := load_map(path).provenance.get("task_warning"):
        note(f"{model.spec.name} is {warning}; the map says so")
    kept = f", {len(outcome.skipped)} were there" if outcome.skipped else ""
    took = duration(sum(outcome.computed.values()))
    count = len(outcome.computed)
    words = f"{count} unit{'' if count == 1 else 's'} computed in {took}{kept}"
    stdout.print(words, highlight=False)
    return [path, *figures, record]


def _draw(path: Path, name: Path, figure: str, variable: str) -> list[Path]:
    """Draw a map in every format."""
    from headatlas.maps import load_map
    from headatlas.plots import FORMATS, draw, save_figure

    drawing = draw(figure, load_map(path), variable=variable)
    return [save_figure(drawing, f"{name}.{figure}{ending}") for ending in FORMATS]


def name_files(paths: list[Path]) -> None:
    """End by naming the files that were written."""
    for path in paths:
        stdout.print(f"wrote {path}", highlight=False, soft_wrap=True, markup=False)
