"""The way every method's command goes: check, load, verify, compute what is missing, draw."""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headatlas.cli.screen import duration, note, progress_bar, stdout, waiting
from headatlas.errors import DivergedError

if TYPE_CHECKING:
    from headatlas.cli.options import ModelOptions
    from headatlas.maps import Map
    from headatlas.methods import Method
    from headatlas.methods.features import Features
    from headatlas.models.model import Model
    from headatlas.tasks import Task
    from headatlas.tasks.pairs import TaskPairs


def load_verified(options: ModelOptions) -> tuple[Model, list[dict[str, Any]]]:
    """Load a model and put it through the checks; a model that fails is refused."""
    model = options.load()
    with waiting(f"verifying edits of single heads on {options.model}"):
        from headatlas.models.heads.verify import require_verified

        checks = require_verified(model)
    return model, [asdict(check) for check in checks]


class Finished(NamedTuple):
    """A method's work on a task that is done: its map file, and the record of how."""

    path: Path
    record: dict[str, Any]


def run_method(
    model: Model,
    checks: list[dict[str, Any]],
    task: Task | TaskPairs | Features,
    method: Method,
    seeds: int,
    out: Path,
) -> Finished:
    """Compute what is missing and assemble the map."""
    from headatlas.maps import load_map
    from headatlas.methods.method import package_versions, task_baseline
    from headatlas.runs.engine import run_units
    from headatlas.runs.store import Store, map_name
    from headatlas.runs.unit import cut
    from headatlas.tasks import Task

    store = Store(out)
    task = task.for_tokenizer(model.tokenizer)
    units = cut(model, task, method, range(seeds))
    remarks = (*task.remarks, *method.check(model, task, seeds))
    store.open()
    for remark in remarks:
        note(remark)
    questions = getattr(task, "task", task)  # features have been read from one
    if isinstance(questions, Task) and not all(store.path(unit).is_file() for unit in units):
        with waiting(f"asking the untouched model {task.name}"):
            task_baseline(model, questions)
    start = time.perf_counter()
    began = datetime.now(UTC).isoformat(timespec="seconds")
    total = sum(method.reports(unit.part) for unit in units)
    name = map_name(model.spec.name, task.name, method.name, units[0].group)
    try:
        with progress_bar(f"{method.name} of {task.name}", total) as progress:
            outcome = run_units(units, model, task, method, store, progress)
    except KeyboardInterrupt:
        if any(store.path(unit).is_file() for unit in units):
            store.assemble(units[0].group, name, task.name, range(seeds))
        raise
    for reason in outcome.failed.values():
        note(f"{reason} This seed gives no map.")
    if len(outcome.failed) == len(units):
        raise DivergedError(f"no seed of {method.name} on {task.name} came to an end.")
    path = store.assemble(units[0].group, name, task.name, range(seeds))
    record = {
        "began": began,
        "seconds": round(time.perf_counter() - start, 3),
        "model": model.spec.as_dict() | {"hash": model.fingerprint},
        "device": str(model.hf.device),
        "checks": checks,
        "task": {"name": task.name, "hash": task.hash},
        "method": {"name": method.name, "settings": method.settings(), "seeds": seeds},
        "units": {
            "computed": outcome.computed,
            "skipped": outcome.skipped,
            "failed": outcome.failed,
        },
        "packages": package_versions(),
        "machine": {"python": platform.python_version(), "system": platform.platform()},
    }
    if warning := load_map(path).provenance.get("task_warning"):
        note(f"{model.spec.name} is {warning}; the map says so")
    kept = f", {len(outcome.skipped)} were there" if outcome.skipped else ""
    took = duration(sum(outcome.computed.values()))
    count = len(outcome.computed)
    words = f"{task.name}: {count} unit{'' if count == 1 else 's'} computed in {took}{kept}"
    stdout.print(words, highlight=False, markup=False)
    return Finished(path, record)


def write_run(out: Path, runs: Sequence[Finished]) -> Path:
    """Write the record of what a command did."""
    from headatlas.runs.store import Store

    return Store(out).write_record({"runs": [run.record for run in runs]})


def draw_maps(
    maps: Map | Sequence[Map], figure: str, out: Path, name: str, **settings: Any
) -> list[Path]:
    """Draw maps into the folder of a run, in every format."""
    from headatlas.plots import draw, save_in_all_formats
    from headatlas.runs.store import Store, safe_name

    drawing = draw(figure, maps, **settings)
    return save_in_all_formats(drawing, Store(out).figures / f"{safe_name(name)}.{figure}")


def run_and_draw(
    model: Model,
    checks: list[dict[str, Any]],
    task: Task,
    method: Method,
    seeds: int,
    out: Path,
) -> tuple[Finished, list[Path]]:
    """Run a method whose figure is the heat map of one task."""
    from headatlas.maps import load_map

    run = run_method(model, checks, task, method, seeds, out)
    drawn = load_map(run.path)
    figures = draw_maps(drawn, "heatmap", out, run.path.stem, variable=method.variable)
    return run, [run.path, *figures]


def name_files(paths: list[Path]) -> None:
    """End by naming the files that were written."""
    for path in paths:
        stdout.print(f"wrote {path}", highlight=False, soft_wrap=True, markup=False)
