"""Compute units on this machine, one after the other, skipping what is there."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headatlas.errors import DivergedError
from headatlas.runs.progress import Step
from headatlas.runs.store import Store
from headatlas.runs.unit import Unit

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.methods.method import Inputs, Method, Subject
    from headatlas.models.model import Model


@dataclass
class Outcome:
    """What became of the units: their maps, the seconds each computed one took, the ones that were
    there, why others failed, and the seconds those took."""

    maps: dict[str, Map] = field(default_factory=dict)
    computed: dict[str, float] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    failed_seconds: list[float] = field(default_factory=list)


def run_units(
    units: Sequence[Unit],
    model: Model,
    task: Subject,
    method: Method[Subject],
    store: Store,
    step: Step,
    outcome: Outcome,
    inputs: Callable[[], Inputs] | None = None,
) -> None:
    """Compute the units that are not in the store; each is kept as soon as it is finished.

    `outcome` is filled as the work goes on, so that it is right after an interruption too. A unit
    whose fit diverges fails, and the others are unaffected. `inputs` gives the maps that the method
    is computed from, and is called only if something is missing.
    """
    for unit in units:
        expected = method.reports(unit.part)
        if (finished := store.load(unit)) is not None:
            outcome.maps[unit.key] = finished
            outcome.skipped.append(unit.key)
            step(expected, "")
            continue
        start = time.perf_counter()
        done = 0

        def report(words: str) -> None:
            nonlocal done
            done += 1
            step(1, words)

        given = inputs() if inputs is not None else None
        try:
            result = method.run(model, task, unit.seed, part=unit.part, report=report, inputs=given)
        except DivergedError as error:
            outcome.failed[unit.key] = str(error)
            outcome.failed_seconds.append(time.perf_counter() - start)
            step(expected - done, "")
            continue
        step(expected - done, "")  # a fit may end early
        seconds = round(time.perf_counter() - start, 3)
        store.save(unit, result, seconds)
        outcome.maps[unit.key] = result
        outcome.computed[unit.key] = seconds
