"""Do units on this machine, one after the other, skipping what is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headatlas.runs.store import Store
from headatlas.runs.unit import Unit, compute

if TYPE_CHECKING:
    from headatlas.methods.method import Method
    from headatlas.models.model import Model
    from headatlas.tasks import Task

Progress = Callable[[int], None]
"""Called with the number of steps that were just finished, or found finished."""


@dataclass
class Outcome:
    """What became of the units: seconds per computed unit, and the ones found finished."""

    computed: dict[str, float] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


def run_units(
    units: Sequence[Unit],
    model: Model,
    task: Task,
    method: Method,
    store: Store,
    progress: Progress,
) -> Outcome:
    """Compute the units that are not in the store; each is kept as soon as it is finished."""
    outcome = Outcome()
    for unit in units:
        if store.has(unit):
            progress(method.steps(unit.part))
            outcome.skipped.append(unit.key)
            continue
        start = time.perf_counter()
        result = compute(unit, model, task, method, lambda: progress(1))
        store.save(unit, result)
        outcome.computed[unit.key] = round(time.perf_counter() - start, 3)
    return outcome
