"""Test questions of a task, and what a model scores on them with heads removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from headatlas.checks.measure import per_prefix
from headatlas.maps.naming import short_hash
from headatlas.methods.measures import Measured, check_measure, endings_of
from headatlas.methods.replacement import REMOVALS, check_replacement, removal_plan
from headatlas.models.run.sweep import Sweep
from headatlas.stats.arrays import FloatArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headatlas.maps.order import Head
    from headatlas.models.model import Model
    from headatlas.tasks import Example, Task

SEED = 0
"""All maps of a task are measured on the same questions."""

WITHOUT_PREFIX = 16
"""Questions that run together where they follow no demonstrations."""


class RemovalQuestions:
    """Test questions in batches that share a prefix, and what replaces removed heads in them.

    `prefixes` is the number of every question's few-shot prefix; without demonstrations, of the
    question itself. `left_out` questions were drawn and cannot be used. With the replacement
    `resample` every batch has donors of its own.
    """

    def __init__(
        self, model: Model, task: Task, limit: int, replacement: str, measure: str
    ) -> None:
        check_replacement(replacement, REMOVALS)
        check_measure(measure)
        self._model, self._replacement = model, replacement
        self._task = task.for_tokenizer(model.tokenizer)
        self._measured: list[Measured] = []
        self.left_out = 0
        available = min(limit, len(self._task.splits["test"]))
        size = per_prefix(available) if self._task.form.shots else WITHOUT_PREFIX
        remaining = limit
        for batch in self._task.batches("test", size, SEED, epochs=1):
            prompts = batch[:remaining]
            self.left_out += len(prompts)
            if any(_can_be_used(model, example, measure) for example in prompts):
                measured = Measured.of(model, self._task, prompts, measure, fewest=1)
                self._measured.append(measured)
                self.left_out -= len(measured.examples)
            remaining -= len(prompts)
            if remaining <= 0:
                break
        if not self._measured:
            Measured.of(model, self._task, prompts, measure, fewest=1)  # raises, and says why

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

    @property
    def digest(self) -> str:
        """Hash of the questions that are measured, with their prompts."""
        return short_hash(
            [[own.prompt, own.target] for batch in self._measured for own in batch.examples]
        )

    def piece(self, name: str) -> str:
        """What a measurement is kept as; resampled heads were once replaced by the same few
        examples in every batch."""
        return f"{name}, donors by batch" if self._replacement == "resample" else name

    def values(self, kept: Sequence[Sequence[Head]]) -> FloatArray:
        """The measure of every question with only some heads kept: set × question."""
        spec = self._model.spec
        gates = torch.zeros(len(kept), spec.n_layers, spec.n_heads)
        for number, heads in enumerate(kept):
            for head in heads:
                gates[number, *head] = 1.0
        columns = [
            own.values(self._sweep(number, own).scores(gates)).cpu().double().numpy()
            for number, own in enumerate(self._measured)
        ]
        return np.concatenate(columns, axis=1)

    def _sweep(self, number: int, own: Measured) -> Sweep:
        """A batch with its heads removed, not kept: what it has recorded takes much memory."""
        donors = SEED + number if self._replacement == "resample" else SEED
        return Sweep(
            self._model, removal_plan(self._model, self._task, own, self._replacement, donors)
        )


def _can_be_used(model: Model, example: Example, measure: str) -> bool:
    """Whether a question fits the context and has something to compare its target with."""
    endings = endings_of(example, measure)
    if measure == "difference" and len(endings) == 1:
        return False
    return None not in model.encode_fitting([(example.prompt, ending) for ending in endings])
