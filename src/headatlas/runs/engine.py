"""Do units on this machine, one after the other, skipping what is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headatlas.errors import DivergedError
from headatlas.runs.store import Store
from headatlas.runs.unit import Unit, compute

if TYPE_CHECKING:
    from headatlas.methods.method import Asked, Method
    from headatlas.models.model import Model

Progress = Callable[[int, str], None]
"""Called with the number of steps that were just finished, or found finished, and what they are."""


@dataclass
class Outcome:
    """What became of the units: seconds per computed unit, the ones found finished, and why others
    gave nothing."""

    computed: dict[str, float] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


def run_units(
    units: Sequence[Unit],
    model: Model,
    task: Asked,
    method: Method,
    store: Store,
    progress: Progress,
) -> Outcome:
    """Compute the units that are not in the store; each is kept as soon as it is finished.

    A unit whose fit diverges gives nothing, and the others are not concerned.
    """
    outcome = Outcome()
    for unit in units:
        if store.has(unit):
            progress(method.reports(unit.part), "")
            outcome.skipped.append(unit.key)
            continue
        start = time.perf_counter()
        done = 0

        def report(words: str) -> None:
            nonlocal done
            done += 1
            progress(1, words)

        try:
            result = compute(unit, model, task, method, report)
        except DivergedError as error:
            outcome.failed[unit.key] = str(error)
            progress(method.reports(unit.part) - done, "")
            continue
        progress(method.reports(unit.part) - done, "")  # a fit may end early
        store.save(unit, result)
        outcome.computed[unit.key] = round(time.perf_counter() - start, 3)
    return outcome
