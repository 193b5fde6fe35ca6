"""Attribution: the effects of all heads at once, from gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from headatlas.errors import HeadAtlasError
from headatlas.methods.effects import Effects
from headatlas.methods.example_method import ExampleMethod
from headatlas.methods.measures import Measured, check_measure
from headatlas.methods.method import Inputs, Part, Report, verified_coordinates
from headatlas.methods.replacement import (
    REMOVALS,
    check_replacement,
    replacement_vectors,
    resampled,
)
from headatlas.models.edit import Edit
from headatlas.models.run.outputs import HeadOutputs
from headatlas.stats.arrays import FloatArray
from headatlas.tasks import Task

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.models.run.sweep import Source

FIRST_POINTS = 5
"""Points of a path that are evenly spaced; the others go where they are needed most."""

TOKENS_WITH_GRADIENT = 1024
"""Tokens of a pass that keeps what its gradient needs: bounds the memory."""


@dataclass(frozen=True, kw_only=True)
class Attribution(ExampleMethod):
    """Estimate what removing every head would do, from a few passes with gradient.

    A head's output is g·z + (1 − g)·b, with gate g and `replacement` b; removing it takes g from 1
    to 0. The gradient of the measure y with respect to a gate is ∂y/∂z · (z − b), summed over
    positions, so −∂y/∂g at g = 1 is the first-order estimate of the effect: attribution patching
    (Nanda 2023; Syed et al. 2023), and with b = 0 the gradient of the gate (Michel et al. 2019).
    With `steps` > 1 it is averaged along the path on which all gates open together, from 0 to 1:
    integrated gradients (Sundararajan et al. 2017), whose effects sum to y(all heads at the
    baseline) − y(model). Half-open gates make this path uneven, so each new point halves the
    interval in which the gradients explain the difference of y least. What they leave unexplained
    is the `unexplained_share` of the map's provenance: large with the replacement `zero`.

    `effect` and its standard error over questions are as in `Ablation`.

    >>> Attribution(steps=48).settings()["replacement"]
    'mean'
    """

    steps: int = 1
    replacement: str = "mean"
    measure: str = "logprob"

    name: ClassVar[str] = "attribution"
    version: ClassVar[int] = 2
    variable: ClassVar[str] = "effect"

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.steps) is not int or not (self.steps == 1 or self.steps >= FIRST_POINTS):
            raise HeadAtlasError(
                f"attribution takes 1 step (the gradient), or at least {FIRST_POINTS} (integrated "
                f"gradients), not {self.steps!r}."
            )
        check_replacement(self.replacement, REMOVALS)
        check_measure(self.measure, differentiable=True)

    def reports(self, part: Part) -> int:
        return self.steps

    def forward_passes(self, model: Model, examples: int) -> float:
        return 2.0 * examples * self.steps

    def check(self, model: Model, task: Task, seeds: int = 1) -> list[str]:
        task = task.for_tokenizer(model.tokenizer)
        return Measured.of(model, task, self.sample(task, 0), self.measure).remarks()

    def run(
        self,
        model: Model,
        task: Task,
        seed: int = 0,
        *,
        part: Part | None = None,
        report: Report | None = None,
        inputs: Inputs | None = None,
    ) -> Map:
        """The map of a task."""
        coordinates = verified_coordinates(model, seed)
        task = task.for_tokenizer(model.tokenizer)
        measured = Measured.of(model, task, self.sample(task, seed), self.measure)
        baseline = _Baseline.of(model, task, measured, self.replacement, seed)
        gradients = np.zeros((len(measured.examples), model.spec.n_layers, model.spec.n_heads))
        portions = list(_portions(measured))
        progress = _Progress(report, seed, self.steps, len(portions))
        facts: dict[str, Any] = dict(measured.facts())
        wanted = 0.0
        for chosen in portions:
            path = _Path(model, measured, chosen, baseline, progress)
            gradients[chosen] = path.mean_gradient(self.steps)
            wanted += path.difference
        if self.steps > 1:
            unexplained = float(np.nansum(gradients)) - wanted
            facts["unexplained_share"] = abs(unexplained / wanted) if wanted else None
        exists = np.zeros(gradients.shape[1:], dtype=bool)
        exists[tuple(np.array(model.spec.heads()).T)] = True
        effects = Effects(model.spec, measured.examples, keep_examples=self.keep_examples)
        effects.add_all("effect", np.where(exists, -gradients, np.nan))
        return self.map_of(model, task, seed, effects, facts, coordinates)


class _Progress:
    """Reports as often as there are steps, however many portions each takes."""

    def __init__(self, report: Report | None, seed: int, steps: int, portions: int) -> None:
        self._report, self._seed, self._steps, self._portions = report, seed, steps, portions
        self._done = 0

    def __call__(self) -> None:
        self._done += 1
        if self._report is not None and self._done % self._portions == 0:
            step = self._done // self._portions
            self._report(f"seed {self._seed}, step {step} of {self._steps}")


@dataclass(frozen=True)
class _Point:
    """The measure of some examples, and its gradient, with all gates at one value."""

    value: float
    gradient: FloatArray

    @property
    def slope(self) -> float:
        """How fast the measure grows as all gates open."""
        return float(self.gradient.sum())


class _Path:
    """All gates of some examples, on their way from the baseline (0) to the model (1)."""

    def __init__(
        self,
        model: Model,
        measured: Measured,
        chosen: list[int],
        baseline: _Baseline,
        progress: _Progress,
    ) -> None:
        self._model, self._progress = model, progress
        self._measured = measured.select(chosen)
        wanted = set(chosen)
        numbers = [i for i, owner in enumerate(measured.owner) if owner in wanted]
        self._replacement = baseline.of_rows(model, numbers)
        self._points: dict[float, _Point] = {}
        self.difference = 0.0

    def mean_gradient(self, steps: int) -> FloatArray:
        """The gradient at the model, or its mean along the path: example × layer × head."""
        if steps == 1:
            return self._at(1.0).gradient
        for point in np.linspace(0, 1, FIRST_POINTS):
            self._at(float(point))
        while len(self._points) < steps:
            start, stop = max(self._intervals(), key=self._unexplained)
            self._at((start + stop) / 2)
        self.difference = self._points[1.0].value - self._points[0.0].value
        return np.asarray(
            np.sum([self._integral(*interval) for interval in self._intervals()], axis=0)
        )

    def _intervals(self) -> list[tuple[float, float]]:
        return list(pairwise(sorted(self._points)))

    def _integral(self, start: float, stop: float) -> FloatArray:
        ends = self._points[start].gradient + self._points[stop].gradient
        return (stop - start) / 2 * ends

    def _unexplained(self, interval: tuple[float, float]) -> float:
        one, other = (self._points[point] for point in interval)
        explained = (interval[1] - interval[0]) / 2 * (one.slope + other.slope)
        return abs(other.value - one.value - explained)

    @torch.enable_grad()
    def _at(self, point: float) -> _Point:
        spec, own = self._model.spec, self._measured
        size = (len(own.examples), spec.n_layers, spec.n_heads)
        gate = torch.full(size, point, requires_grad=True)
        edit = Edit(gate=gate[list(own.owner)], replacement=self._replacement)
        total = own.values(self._model.score(own.rows, edit)).sum()
        (gradient,) = torch.autograd.grad(total, gate)
        self._points[point] = _Point(float(total.detach()), gradient.double().cpu().numpy())
        self._progress()
        return self._points[point]


@dataclass(frozen=True)
class _Baseline:
    """What stands for removed heads: nothing, vectors, or the outputs of other rows."""

    vectors: Tensor | None = None
    outputs: HeadOutputs | None = None
    source: Source | None = None

    @classmethod
    def of(cls, model: Model, task: Task, measured: Measured, name: str, seed: int) -> _Baseline:
        if name != "resample":
            return cls(replacement_vectors(model, task, name, seed))
        source = resampled(model, task, measured, seed)
        return cls(None, HeadOutputs(model, source.rows), source)

    def of_rows(self, model: Model, numbers: list[int]) -> Tensor | dict[int, Tensor] | None:
        """The replacement for some rows of a batch, in an edit's own shape."""
        if self.outputs is None or self.source is None:
            return self.vectors
        aligned = [self.source.aligned[number] for number in numbers]
        width, spec = max(map(len, aligned)), model.spec
        replacement = {}
        for layer, own in enumerate(spec.layers):
            if own is None:
                continue
            z = torch.zeros(len(numbers), spec.n_heads, width, spec.d_head)
            for i, (number, places) in enumerate(zip(numbers, aligned, strict=True)):
                values = self.outputs.at(layer, number, places).transpose(0, 1)
                z[i, : values.shape[0], : values.shape[1], : values.shape[2]] = values
            replacement[layer] = z
        return replacement


def _portions(measured: Measured) -> Iterator[list[int]]:
    """Numbers of examples, in portions that fit a pass with gradient."""
    lengths = [0] * len(measured.examples)
    counts = [0] * len(measured.examples)
    for row, owner in zip(measured.rows, measured.owner, strict=True):
        lengths[owner] = max(lengths[owner], len(row))
        counts[owner] += 1
    portion: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        rows = sum(counts[i] for i in portion) + counts[number]
        if portion and rows * lengths[number] > TOKENS_WITH_GRADIENT:
            yield portion
            portion = []
        portion.append(number)
    yield portion
