"""Computing a map: what is there is kept, what is missing is computed, and a record is written."""

from __future__ import annotations

import logging
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

from headatlas.errors import DivergedError, HeadAtlasError
from headatlas.maps import Map
from headatlas.maps.reliability import reliability
from headatlas.maps.roles import is_gating
from headatlas.methods.baseline import (
    QUESTIONS,
    QUESTIONS_PER_PREFIX,
    TOKENS,
    Baseline,
    measure_baseline,
)
from headatlas.methods.method import package_versions
from headatlas.runs.assemble import assemble
from headatlas.runs.engine import Outcome, run_units
from headatlas.runs.pieces import Pieces
from headatlas.runs.progress import Callback, tracked
from headatlas.runs.unit import cut
from headatlas.tasks import Task
from headatlas.tasks.pairs import TaskPairs

if TYPE_CHECKING:
    from headatlas.methods.method import Inputs, Method, Subject
    from headatlas.models.model import Model
    from headatlas.runs.stopping import StoppingRule
    from headatlas.runs.store import Store
    from headatlas.runs.unit import Unit

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Computed:
    """A finished map and the record of how it was computed."""

    map: Map
    record: dict[str, Any]


def check_method(method: Any) -> None:
    """Raise unless it is a method, with its settings."""
    if isinstance(method, type) or not callable(getattr(method, "run", None)):
        raise HeadAtlasError(
            f"a method is an object such as Gating() or Ablation(), not {method!r}."
        )


def check_subject(method: Method[Any], subject: Task | TaskPairs) -> None:
    """Raise unless the method is run on such tasks."""
    if not isinstance(subject, method.subject):
        wanted = "pairs of tasks" if method.subject is TaskPairs else "one task"
        raise HeadAtlasError(f"{method.name} is run on {wanted}, not on '{subject.name}'.")


def compute_map(
    model: Model,
    task: Subject,
    method: Method[Subject],
    seeds: int,
    store: Store,
    *,
    baseline: bool,
    progress: Callback | None,
    stopping: StoppingRule | None = None,
) -> Computed:
    """The map of a task for a number of seeds: units that are there are used, others computed.

    With `stopping`, the run may end before its last seed.
    """
    if type(seeds) is not int or seeds < 1:
        raise HeadAtlasError(f"seeds must be at least 1, not {seeds!r}.")
    start = time.perf_counter()
    began = datetime.now(UTC).isoformat(timespec="seconds")
    units = cut(model, task, method, range(seeds))
    for remark in (*task.remarks, *method.check(model, task, seeds)):
        logger.warning("%s", remark)
    store.open()
    facts: dict[str, Any] = {"task": task.name}
    if isinstance(task, Task):
        known = kept_baseline(model, task, store, progress, measure=baseline)
        facts |= known.facts() if known is not None else {}
    outcome = Outcome()
    inputs = _inputs(model, task, method, store, progress)
    try:
        total = sum(method.reports(unit.part) for unit in units)
        with tracked(progress, f"{method.name} of {task.name}", total) as step:
            for seed in range(seeds):
                own = [unit for unit in units if unit.seed == seed]
                run_units(own, model, task, method, store, step, outcome, inputs)
                if stopping is not None and _ends(stopping, units, seed, outcome, store):
                    units = [unit for unit in units if unit.seed <= seed]
                    break
    except KeyboardInterrupt:
        if (partial := assemble(units, outcome, store, facts)) is not None:
            store.save_map(partial)
        raise
    for reason in outcome.failed.values():
        logger.warning("%s This seed gives no map; other seeds are unaffected.", reason)
    whole = assemble(units, outcome, store, facts)
    if whole is None:
        raise DivergedError(f"every seed of {method.name} on {task.name} diverged.")
    if is_gating(whole):
        facts["reliability"] = reliability(whole).as_dict()
        if stopping is not None and (ending := stopping.outcome(whole)) is not None:
            facts["stopped"] = ending
        whole = Map(whole.data, {**whole.provenance, **facts})
    store.save_map(whole)
    if warning := whole.provenance.get("task_warning"):
        logger.warning("%s is %s. The map carries this warning.", model.spec.name, warning)
    record = {
        "began": began,
        "seconds": round(time.perf_counter() - start, 3),
        "model": model.spec.as_dict() | {"hash": model.fingerprint},
        "device": str(model.device),
        "checks": [asdict(check) for check in model.checks],
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
    return Computed(whole, record)


def write_record(computed: Computed, store: Store) -> None:
    """Write the table of a map's heads, and the record into `run.json`."""
    table = computed.map.to_dataframe().to_csv(index=False, float_format="%.6g")
    store.write_text(f"tables/{computed.map.name}.heads.csv", table)
    earlier = (store.read_json("run.json") or {}).get("runs", [])
    store.write_json("run.json", {"runs": [*earlier, computed.record]})


def _ends(
    stopping: StoppingRule, units: Sequence[Unit], seed: int, outcome: Outcome, store: Store
) -> bool:
    """Whether the run ends after this seed."""
    if stopping.is_late([*outcome.computed.values(), *outcome.failed_seconds]):
        return True
    if stopping.stable is None:
        return False
    done = [unit for unit in units if unit.seed <= seed]
    return stopping.is_stable(assemble(done, outcome, store, {}))


def kept_baseline(
    model: Model, task: Task, store: Store, progress: Callback | None, *, measure: bool = True
) -> Baseline | None:
    """What the untouched model scores on a task: from the folder, or measured and kept.

    `None` if it is not in the folder and not to be measured.
    """
    subject = {
        "model_hash": model.fingerprint,
        "task_hash": task.hash,
        "baseline": [QUESTIONS, TOKENS, QUESTIONS_PER_PREFIX],
    }
    pieces = Pieces(store, subject)

    def measured() -> dict[str, Any]:
        total = min(QUESTIONS, len(task.split("test")))
        with tracked(progress, f"baseline of {task.name}", total) as step:
            return measure_baseline(
                model,
                task,
                limit=QUESTIONS,
                max_tokens=TOKENS,
                progress=lambda done: step(done, "untouched model"),
            ).as_dict()

    stored = pieces.get("baseline", measured) if measure else pieces.find("baseline")
    return None if stored is None else replace(Baseline.from_dict(stored), task=task.name)


def _inputs(
    model: Model,
    task: Subject,
    method: Method[Subject],
    store: Store,
    progress: Callback | None,
) -> Callable[[], Inputs] | None:
    """How the maps that a method is computed from are found, once and only if they are needed."""
    if not method.inputs():
        return None
    return cache(lambda: input_maps(model, task, method.inputs(), store, progress))


def input_maps(
    model: Model,
    task: Subject,
    methods: Sequence[Method[Any]],
    store: Store,
    progress: Callback | None,
) -> Inputs:
    """The maps of some methods of a task, part by part: from the folder, or computed and kept."""
    maps = {}
    for method in methods:
        units = cut(model, task, method, [0])
        outcome = Outcome()
        total = sum(method.reports(unit.part) for unit in units)
        with tracked(progress, f"{method.name} of {task.name}", total) as step:
            run_units(units, model, task, method, store, step, outcome)
        maps[method.name] = [outcome.maps[unit.key] for unit in units]
    return maps
