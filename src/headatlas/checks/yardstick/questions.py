"""Test questions of a task, and what a model scores on them with heads removed."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import torch

from headatlas.checks.measure import per_prefix
from headatlas.errors import TaskError
from headatlas.methods.measures import Measured
from headatlas.methods.replacement import (
    REMOVALS,
    check_replacement,
    replacement_vectors,
    resampled,
)
from headatlas.models.run.sweep import Sweep, SweepPlan
from headatlas.stats.arrays import FloatArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headatlas.maps.order import Head
    from headatlas.models.model import Model
    from headatlas.tasks import Task

SEED = 0
"""All maps of a task are measured on the same questions."""

WITHOUT_PREFIX = 16
"""Questions that run together where they follow no demonstrations."""


class RemovalQuestions:
    """Test questions in batches that share a prefix, and what replaces removed heads in them.

    `prefixes` is the number of every question's few-shot prefix; without demonstrations, of the
    question itself.
    """

    def __init__(
        self, model: Model, task: Task, limit: int, replacement: str, measure: str
    ) -> None:
        check_replacement(replacement, REMOVALS)
        self._model, self._replacement = model, replacement
        self._task = task.for_tokenizer(model.tokenizer)
        self._measured: list[Measured] = []
        size = per_prefix(limit) if self._task.form.shots else WITHOUT_PREFIX
        remaining = limit
        unusable: TaskError | None = None
        for batch in self._task.batches("test", size, SEED, epochs=1):
            try:
                measured = Measured.of(model, self._task, batch[:remaining], measure, fewest=1)
                self._measured.append(measured)
            except TaskError as error:
                unusable = error
            remaining -= len(batch)
            if remaining <= 0:
                break
        if not self._measured and unusable is not None:
            raise unusable

    @property
    def names(self) -> tuple[str, ...]:
        """The questions."""
        return tuple(example.question for own in self._measured for example in own.examples)

    @property
    def prefixes(self) -> tuple[int, ...]:
        if not self._task.form.shots:
            places = {name: number for number, name in enumerate(dict.fromkeys(self.names))}
            return tuple(places[name] for name in self.names)
        return tuple(number for number, own in enumerate(self._measured) for _ in own.examples)

    def values(self, kept: Sequence[Sequence[Head]]) -> FloatArray:
        """The measure of every question with only some heads kept: set × question."""
        spec = self._model.spec
        gates = torch.zeros(len(kept), spec.n_layers, spec.n_heads)
        for number, heads in enumerate(kept):
            for head in heads:
                gates[number, *head] = 1.0
        columns = [
            own.values(sweep.scores(gates)).double().cpu().numpy()
            for own, sweep in zip(self._measured, self._sweeps, strict=True)
        ]
        return np.concatenate(columns, axis=1)

    @cached_property
    def _sweeps(self) -> list[Sweep]:
        return [Sweep(self._model, self._plan(own)) for own in self._measured]

    def _plan(self, measured: Measured) -> SweepPlan:
        model, task = self._model, self._task
        if self._replacement == "resample":
            return SweepPlan(measured.rows, source=resampled(model, task, measured, SEED))
        return SweepPlan(
            measured.rows, vectors=replacement_vectors(model, task, self._replacement, SEED)
        )
