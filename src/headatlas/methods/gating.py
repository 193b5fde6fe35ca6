"""Causal head gating: which heads a task needs, which are in its way, which do not matter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headatlas.errors import DivergedError, HeadAtlasError
from headatlas.maps import Map
from headatlas.maps.convergence import SYMBOLS
from headatlas.methods.encoding import EncodedBatches, encode_examples
from headatlas.methods.fitting import (
    FitSettings,
    Fitted,
    existing_heads,
    first_theta,
    fit_gates,
)
from headatlas.methods.method import Inputs, Method, Part, Report, provenance, verified_coordinates
from headatlas.methods.replacement import check_replacement, replacement_vectors
from headatlas.methods.settings import (
    check_counts,
    check_first_gates,
    check_learning_rate,
    check_numbers,
    check_pair,
)
from headatlas.models.edit import Edit
from headatlas.tasks import Task

if TYPE_CHECKING:
    from headatlas.models.model import Model

STAGES = ("free", "plus", "minus")
VARIED = ("both", "start", "data")
LENGTHS_CHECKED = 256
"""Training examples whose length is checked before the work begins."""


@dataclass(frozen=True)
class Gating(Method[Task]):
    """Learn a gate on every head: free, pushed on and pushed off (Nam et al., arXiv 2505.13737).

    Gates are sigmoid(θ), θ from gates drawn uniformly by the seed. Loss = NLL of the target (mean
    over its tokens, then over examples) − λ · mean(clamp(θ, −4, 4)), minimised by Adam. λ = 0 gives
    G; from G, λ = +`regularization` gives G⁺ and λ = −`regularization` gives G⁻. Then, per head:
    `facilitation` = G⁻ (on although pushed off), `interference` = 1 − G⁺ (off although pushed on),
    `irrelevance` = G⁺·(1 − G⁻) (goes where it is pushed).

    λ is a resolution: a gate is pushed aside if switching its head off or on changes the loss by
    less than about 4λ/H nats, H being the number of heads. With `resolution` in nats, λ is
    resolution · H / 4, the same effect on every model. `annealing` is how many times λ
    the fits of G⁺ and G⁻ begin with, so that gates are carried away from where they started before
    the loss decides where they stay.

    A pushed fit has `steps` updates, the free fit `free_steps`: two thirds of that unless given.
    First gates are drawn from the range `initial`: one whose logit lies beyond ±`clamp` would never
    be pushed. Seeds differ in their first gates and in the order of the data, or only in what
    `varied` names: `start` or `data`. `replacement` is what takes a closed head's place: `zero`, or
    the `mean` of its output on the task. The path of the gates (`gate_path`) and the losses are
    kept in the map.
    Learning rates are (start, end). `Gating.published()` is the paper's schedule, `Gating.quick()`
    one for a first look.

    >>> Gating.published().batch_size
    64
    """

    steps: int = 60
    free_steps: int | None = None
    batch_size: int = 16
    learning_rate: tuple[float, float] = (0.3, 0.05)
    pushed_learning_rate: tuple[float, float] = (1.0, 0.1)
    beta2: float = 0.95
    regularization: float = 0.1
    resolution: float | None = None
    annealing: tuple[float, float] = (3.0, 10.0)
    initial: tuple[float, float] = (0.02, 0.98)
    clamp: float = 4.0
    max_grad_norm: float | None = 1.0
    patience: int | None = None
    replacement: str = "zero"
    varied: str = "both"

    name: ClassVar[str] = "gating"
    version: ClassVar[int] = 3
    variable: ClassVar[str] = "facilitation"
    subject: ClassVar[type] = Task

    def __post_init__(self) -> None:
        optional = {"free_steps": self.free_steps, "patience": self.patience}
        given = {name: count for name, count in optional.items() if count is not None}
        check_counts(self.name, steps=self.steps, batch_size=self.batch_size, **given)
        check_learning_rate(self.learning_rate)
        check_learning_rate(self.pushed_learning_rate)
        check_numbers(self.name, below=1, least_allowed=True, beta2=self.beta2)
        check_numbers(
            self.name,
            regularization=self.regularization,
            clamp=self.clamp,
            max_grad_norm=self.max_grad_norm,
            resolution=self.resolution,
        )
        check_first_gates(self.initial)
        check_pair("annealing", self.annealing, "(G⁺, G⁻), such as (3, 10)")
        if self.varied not in VARIED:
            raise HeadAtlasError(f"varied must be one of {', '.join(VARIED)}, not {self.varied!r}.")
        check_replacement(self.replacement)

    @classmethod
    def published(cls, **changes: Any) -> Gating:
        """The schedule of the paper; the gradient is clipped as in its authors' code."""
        steps = changes.get("steps", 500)
        schedule = cls(
            steps=steps,
            free_steps=steps,
            batch_size=64,
            learning_rate=(0.1, 0.01),
            pushed_learning_rate=(0.5, 0.1),
            beta2=0.999,
            annealing=(1.0, 1.0),
            initial=(0.0, 1.0),
        )
        return replace(schedule, **changes)

    @classmethod
    def quick(cls, **changes: Any) -> Gating:
        """A first look: too short for gates to come to rest, and its maps say so."""
        return replace(cls(steps=18, batch_size=8), **changes)

    @property
    def updates_of_free_fit(self) -> int:
        """Two thirds of a pushed fit's, unless `free_steps` says otherwise."""
        return self.free_steps or max(1, 2 * self.steps // 3)

    def reports(self, part: Part) -> int:
        """One report per update."""
        return sum(fit.steps for fit in self.fits().values())

    def strength(self, heads: int) -> float:
        """λ for a model with this number of heads.

        >>> Gating(resolution=0.015).strength(270)
        1.0125
        """
        return self.regularization if self.resolution is None else self.resolution * heads / 4

    def fits(self, heads: int = 1) -> dict[str, FitSettings]:
        """The settings of the three fits for a model with this number of heads."""
        signs = {"free": 0.0, "plus": 1.0, "minus": -1.0}
        annealing = dict(zip(STAGES, (1.0, *self.annealing), strict=True))
        return {
            stage: FitSettings(
                steps=self.updates_of_free_fit if stage == "free" else self.steps,
                learning_rate=self.learning_rate if stage == "free" else self.pushed_learning_rate,
                regularization=signs[stage] * self.strength(heads),
                clamp=self.clamp,
                max_grad_norm=self.max_grad_norm,
                beta2=self.beta2,
                patience=self.patience,
                annealing=annealing[stage],
            )
            for stage in STAGES
        }

    def forward_passes(self, model: Model, examples: int) -> float:
        return 2.0 * self.batch_size * self.reports({})

    def check(self, model: Model, task: Task, seeds: int = 1) -> list[str]:
        task = task.for_tokenizer(model.tokenizer)
        examples = task.prompts("train", 0, LENGTHS_CHECKED)
        used, _ = encode_examples(model, task, examples)
        remarks = []
        if left_out := len(examples) - len(used):
            remarks.append(
                f"{left_out} of the first {len(examples)} training examples are too long; examples "
                "that are too long are left out"
            )
        if (count := len(task.split("train"))) < self.batch_size:
            remarks.append(f"only {count} training examples: batch size reduced to {count}")
        return remarks

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
        """The map of one seed."""
        coordinates = verified_coordinates(model, seed)
        task = task.for_tokenizer(model.tokenizer)
        exists = existing_heads(model.spec)
        vectors = replacement_vectors(model, task, self.replacement, seed)
        data_seed, start_seed = (0 if self.varied == only else seed for only in ("start", "data"))
        batches = EncodedBatches(model, task, self.batch_size, data_seed)
        theta = first_theta(model.spec, task.questions_hash, start_seed, *self.initial)
        heads = int(exists.sum())
        fitted: dict[str, Fitted] = {}
        for stage, settings in self.fits(heads).items():
            # both pushed fits see the same batches: those that follow the free fit's
            first = 0 if stage == "free" else self.updates_of_free_fit

            def loss(gate: Tensor, step: int, first: int = first) -> Tensor:
                edit = Edit(gate=gate, replacement=vectors)
                return -model.score(batches[first + step], edit).mean().mean()

            def on_step(step: int, value: float, stage: str = stage) -> None:
                if report is not None:
                    report(f"seed {seed}, {SYMBOLS[stage]}, update {step + 1}, loss {value:.3f}")

            start = theta if stage == "free" else fitted["free"].theta
            try:
                fitted[stage] = fit_gates(start, exists, loss, settings, on_step)
            except DivergedError as error:
                raise DivergedError(f"seed {seed}, fit of {SYMBOLS[stage]}: {error}") from error
        facts = {
            "examples_too_long": batches.too_long,
            "resolution": 4 * self.strength(heads) / heads,
        }
        return Map.of(
            _variables(fitted, exists),
            provenance(model, task, self, seed) | facts,
            coordinates | _coordinates(fitted),
        )


def _variables(fitted: dict[str, Fitted], exists: Tensor) -> dict[str, tuple[tuple[str, ...], Any]]:
    """Scores, gates and their path from the three fits."""
    free, plus, minus = (
        fitted[stage].theta.sigmoid().where(exists, torch.nan).double().numpy() for stage in STAGES
    )
    gates = {
        "facilitation": minus,
        "interference": 1 - plus,
        "irrelevance": plus * (1 - minus),
        "gate": free,
        "gate_plus": plus,
        "gate_minus": minus,
    }
    variables: dict[str, tuple[tuple[str, ...], Any]] = {
        name: (("seed", "layer", "head"), values[None]) for name, values in gates.items()
    }
    path = _stack([fit.path for fit in fitted.values()])
    path[..., ~exists.numpy()] = np.nan
    variables["gate_path"] = (("seed", "stage", "point", "layer", "head"), path[None])
    return variables


def _coordinates(fitted: dict[str, Fitted]) -> dict[str, Any]:
    losses = _stack([fit.losses for fit in fitted.values()])
    return {
        "stage": list(STAGES),
        "point_step": (("stage", "point"), _stack([fit.points for fit in fitted.values()])),
        "loss": (("seed", "stage", "step"), losses[None]),
    }


def _stack(arrays: list[Any]) -> np.ndarray[Any, Any]:
    """Stack arrays of different lengths; what is missing is NaN (−1 for integers)."""
    longest = max(len(array) for array in arrays)
    fill = np.nan if arrays[0].dtype.kind == "f" else -1
    whole = np.full((len(arrays), longest, *arrays[0].shape[1:]), fill, arrays[0].dtype)
    for row, array in zip(whole, arrays, strict=True):
        row[: len(array)] = array
    return whole
