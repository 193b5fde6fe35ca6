"""Attribution: the effects of all heads at once, from gradients."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from headatlas.errors import HeadAtlasError
from headatlas.methods.effects import Effects
from headatlas.methods.example_method import ExampleMethod
from headatlas.methods.measures import Measured, check_measure
from headatlas.methods.method import Inputs, Part, Report, verified_coordinates
from headatlas.methods.path_integral import FIRST_POINTS, PathIntegral
from headatlas.methods.replacement import (
    REMOVALS,
    check_replacement,
    replacement_passes,
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

INTEGRATED_STEPS = 64
"""Points of the path that integrated gradients take of an example at most."""

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
    baseline) − y(model). Half-open gates make this path uneven, elsewhere in every example, so each
    example has points of its own: at most `steps`, fewer where the gradients explain y sooner (see
    `PathIntegral`). They are shares of the effect of removing all heads, and do not estimate what
    removing a single one does: a head that only matters once others are gone has its share, too.
    What they leave unexplained, often much with the replacement `zero`, is the map's
    `unexplained_share` of the mean effect of removing all heads, in which errors on examples may
    cancel, and `unexplained_by_example`, the mean size of an example's error as a share of the mean
    size of its effect, in which they do not. `forward_passes` is what a seed took.

    `Attribution()` is the gradient, `Attribution.integrated()` are integrated gradients.
    `effect` and its standard error over questions are as in `Ablation`.

    >>> Attribution.integrated(replacement="resample").steps
    64
    """

    steps: int = 1
    replacement: str = "mean"
    measure: str = "logprob"

    name: ClassVar[str] = "attribution"
    version: ClassVar[int] = 3
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

    @classmethod
    def integrated(cls, **changes: Any) -> Attribution:
        """Integrated gradients, with as many steps as they usually need."""
        method = replace(cls(steps=INTEGRATED_STEPS), **changes)
        if method.steps == 1:
            raise HeadAtlasError(
                f"integrated gradients take at least {FIRST_POINTS} steps, not 1: "
                "use Attribution() for the gradient."
            )
        return method

    def reports(self, part: Part) -> int:
        return self.steps

    def forward_passes(self, model: Model, examples: int) -> float:
        return 2.0 * examples * self.steps + replacement_passes(self.replacement, examples)

    def check(self, model: Model, task: Task, seeds: int = 1) -> list[str]:
        task = task.for_tokenizer(model.tokenizer)
        measured = Measured.of(model, task, self.sample(task, 0), self.measure)
        return measured.remarks() + self.sample_remarks(task, seeds)

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
        differences, errors, points = [], [], 0
        for chosen in portions:
            portion = _Portion(model, measured, chosen, baseline)
            if self.steps == 1:
                _, gradients[chosen] = portion.gradients([1.0] * len(chosen))
                progress()
                continue
            paths = portion.integrate(self.steps, progress)
            gradients[chosen] = [path.integral() for path in paths]
            differences += [path.difference for path in paths]
            errors += [abs(float(np.nansum(path.integral())) - path.difference) for path in paths]
            # a point takes a pass of every row of its example
            points += sum(
                len(path) * measured.owner.count(i) for i, path in zip(chosen, paths, strict=True)
            )
        if self.steps > 1:
            wanted = sum(differences)
            share = abs(float(np.nansum(gradients)) / wanted - 1) if wanted else math.nan
            facts["unexplained_share"] = share if wanted else None
            coordinates["unexplained_share"] = (("seed",), [share])
            size = float(np.abs(differences).sum())
            by_example = sum(errors) / size if size else math.nan
            coordinates["unexplained_by_example"] = (("seed",), [by_example])
            read = replacement_passes(self.replacement, len(measured.examples))
            coordinates["forward_passes"] = (("seed",), [2.0 * points + read])
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


class _Portion:
    """Examples that run together, with gates of their own on the way from baseline to model."""

    def __init__(
        self, model: Model, measured: Measured, chosen: list[int], baseline: _Baseline
    ) -> None:
        self._model, self._measured, self._baseline = model, measured, baseline
        self._choose(chosen)

    def _choose(self, chosen: list[int]) -> None:
        """Keep some examples, by their number among all."""
        wanted = set(chosen)
        rows = [i for i, owner in enumerate(self._measured.owner) if owner in wanted]
        self._chosen, self._own = chosen, self._measured.select(chosen)
        self._replacement = self._baseline.of_rows(self._model, rows)

    def integrate(self, steps: int, progress: _Progress) -> list[PathIntegral]:
        """The path of every example; those whose gradients explain enough drop out."""
        paths = {number: PathIntegral() for number in self._chosen}
        for _ in range(steps):
            left = [number for number, path in paths.items() if not path.is_explained]
            if left:
                if left != self._chosen:
                    self._choose(left)
                points = [paths[number].next_point() for number in left]
                for number, point, *found in zip(
                    left, points, *self.gradients(points), strict=True
                ):
                    paths[number].add(point, *found)
            progress()
        return list(paths.values())

    @torch.enable_grad()
    def gradients(self, points: list[float]) -> tuple[list[float], FloatArray]:
        """The measure of every example with all its gates at a point, and its gradient."""
        spec, own = self._model.spec, self._own
        gate = torch.tensor(points)[:, None, None].repeat(1, spec.n_layers, spec.n_heads)
        gate.requires_grad_()  # example layer head
        edit = Edit(gate=gate[list(own.owner)], replacement=self._replacement)
        values = own.values(self._model.score(own.rows, edit))
        (gradient,) = torch.autograd.grad(values.sum(), gate)
        return values.detach().cpu().double().tolist(), gradient.cpu().double().numpy()


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
