"""Causal head gating: which heads a task needs, which are in its way, which do not matter."""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headatlas.errors import DivergedError, HeadAtlasError
from headatlas.maps import Map, combine, head_coordinates
from headatlas.methods.batches import EncodedBatches
from headatlas.methods.fitting import Fit, Fitted, existing_heads, first_theta, fit_gates
from headatlas.methods.method import Part, Report, provenance
from headatlas.models.edit import Edit
from headatlas.models.run.mean_output import MEAN_EXAMPLES, mean_outputs
from headatlas.tasks import Task
from headatlas.methods.encoding import encode_examples

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.spec import ModelSpec

STAGES = ("free", "plus", "minus")
SHOWN = {"free": "G", "plus": "G⁺", "minus": "G⁻"}
BASELINES = ("zero", "mean")
LOOKED_AT = 256
"""Train examples whose length is looked at before the work begins."""

HIGHEST_RATE = 100.0
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Gating:
    """Learn a gate on every head, free, pushed up and pushed down (Nam et al., arXiv 2505.13737).

    Gates are sigmoid(θ), θ from gates drawn uniformly by the seed. Loss = NLL of the target (mean
    over its tokens, then over examples) − λ · mean(clamp(θ, −4, 4)), minimised by Adam with
    β₂ = `memory`. λ = 0 gives G; from G,
    λ = +`pressure` gives G⁺ and λ = −`pressure` gives G⁻. Then, per head: `facilitation` = G⁻ (on
    although pushed off), `interference` = 1 − G⁺ (off although pushed on), `irrelevance` =
    G⁺·(1 − G⁻) (goes where it is pushed).

    Seeds differ in first gates and data order, and share nothing. `baseline` is what takes a
    closed head's place: nothing, or its mean output on the task. The gates' way (`gate_path`) and
    the losses are kept in the map. `Gating.published()` is the paper's schedule.

    >>> Gating.published().batch
    64
    """

    seeds: int = 1
    steps: int = 26
    pushed_steps: int | None = None
    batch_size: int = 32
    learning_rate: tuple[float, float] = (0.3, 0.05)
    pushed_learning_rate: tuple[float, float] = (0.6, 0.1)
    beta2: float = 0.95
    regularization: float = 0.1
    clamp: float = 4.0
    max_grad_norm: float | None = 1.0
    patience: int | None = None
    baseline: str = "zero"

    name: ClassVar[str] = "gating"
    version: ClassVar[int] = 2
    variable: ClassVar[str] = "facilitation"

    def __post_init__(self) -> None:
        for name in ("seeds", "steps", "pushed_steps", "batch", "patience"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise HeadAtlasError(f"gating needs {name} of at least 1, not {value}.")
        for rate in (*self.learning_rate, *self.pushed_learning_rate):
            if not 0 < rate <= HIGHEST_RATE:
                raise HeadAtlasError(f"a learning rate lies between 0 and 100, not at {rate}.")
        if not 0 <= self.beta2 < 1:
            raise HeadAtlasError(f"the memory of a fit lies between 0 and 1, not at {self.beta2}.")
        if not 0 < self.regularization < float("inf"):
            raise HeadAtlasError(
                f"the pressure λ is a positive number, not {self.regularization}: it is used both ways."
            )
        for name in ("clamp", "clip"):
            if (value := getattr(self, name)) is not None and not value > 0:
                raise HeadAtlasError(f"gating needs a positive {name}, not {value}.")
        if self.baseline not in BASELINES:
            raise HeadAtlasError(f"no baseline '{self.baseline}': use {' or '.join(BASELINES)}.")

    @classmethod
    def published(cls, **changes: Any) -> Gating:
        """The schedule of the paper; the gradient is clipped as in its authors' code."""
        schedule = cls(steps=500, batch_size=64, learning_rate=(0.1, 0.01), pushed_learning_rate=(0.5, 0.1), beta2=0.999)
        return replace(schedule, **changes)

    def settings(self) -> dict[str, Any]:
        settings = asdict(self)
        del settings["seeds"]
        return {key: list(v) if isinstance(v, tuple) else v for key, v in settings.items()}

    def parts(self, spec: ModelSpec) -> list[Part]:
        """A seed is one piece."""
        return [{}]

    def reports(self, part: Part) -> int:
        """One report an update."""
        return sum(fit.steps for fit in self.fits().values())

    def fits(self) -> dict[str, Fit]:
        """How the three fits go."""
        pressures = {"free": 0.0, "plus": self.regularization, "minus": -self.regularization}
        return {
            stage: Fit(
                steps=self.steps if stage == "free" else self.pushed_steps or self.steps,
                rate=self.learning_rate if stage == "free" else self.pushed_learning_rate,
                regularization=pressures[stage],
                clamp=self.clamp,
                clip=self.max_grad_norm,
                memory=self.beta2,
                patience=self.patience,
            )
            for stage in STAGES
        }

    def check(self, model: Model, task: Task, seeds: int = 1) -> list[str]:
        task = task.for_tokenizer(model.tokenizer)
        examples = task.prompts("train", 0, LOOKED_AT)
        used, _ = encode_examples(model, task, examples)
        remarks = []
        if left_out := len(examples) - len(used):
            remarks.append(
                f"{left_out} of {len(examples)} examples looked at are too long; such are left out"
            )
        if (most := len(task.split("train"))) < self.batch_size:
            remarks.append(f"'{task.name}' has {most} examples to fit gates on: so has a batch")
        return remarks

    def run(
        self,
        model: Model,
        task: Task,
        seed: int | None = None,
        *,
        part: Part | None = None,
        report: Report | None = None,
    ) -> Map:
        """The map of one seed, or of all `seeds` if none is named."""
        if seed is None:
            return self._run_all(model, task, report)
        task = task.for_tokenizer(model.tokenizer)
        exists = existing_heads(model.spec)
        vectors = None
        if self.baseline == "mean":
            _, rows = encode_examples(model, task, task.prompts("train", seed, MEAN_EXAMPLES))
            vectors = mean_outputs(model, rows)
        batches = EncodedBatches(model, task, self.batch_size, seed)
        theta = first_theta(model.spec, torch.Generator().manual_seed(seed))
        fitted: dict[str, Fitted] = {}
        for stage, plan in self.fits().items():
            # pushed up and pushed down, gates see the same batches: those after the free fit's
            first = 0 if stage == "free" else self.steps

            def loss(gate: Tensor, step: int, first: int = first) -> Tensor:
                edit = Edit(gate=gate, baseline=vectors)
                return -model.score(batches[first + step], edit).mean().mean()

            def on_step(step: int, value: float, stage: str = stage, plan: Fit = plan) -> None:
                if report is not None:
                    report(f"seed {seed}, {SHOWN[stage]} {step + 1}/{plan.steps}, loss {value:.3f}")

            start = theta if stage == "free" else fitted["free"].theta
            try:
                fitted[stage] = fit_gates(start, exists, loss, plan, on_step)
            except DivergedError as error:
                raise DivergedError(f"seed {seed}, fit of {SHOWN[stage]}: {error}") from error
        return self._as_map(model, task, seed, fitted, exists, batches.too_long)

    def _run_all(self, model: Model, task: Task, report: Report | None) -> Map:
        """The map of all seeds that come to an end."""
        maps = []
        for seed in range(self.seeds):
            try:
                maps.append(self.run(model, task, seed, report=report))
            except DivergedError as error:
                logger.warning("%s This seed gives no map.", error)
        if not maps:
            raise DivergedError(f"no seed of gating on {task.name} came to an end.")
        return combine(maps)

    def _as_map(
        self,
        model: Model,
        task: Task,
        seed: int,
        fitted: dict[str, Fitted],
        exists: Tensor,
        too_long: int,
    ) -> Map:
        shape = (model.spec.n_layers, model.spec.n_heads)
        free, plus, minus = (
            fitted[stage].theta.sigmoid().where(exists, torch.nan).double().numpy()
            for stage in STAGES
        )
        gates = {
            "facilitation": minus,
            "interference": 1 - plus,
            "irrelevance": plus * (1 - minus),
            "gate": free,
            "gate_plus": plus,
            "gate_minus": minus,
        }
        dims = ("seed", "layer", "head")
        variables: dict[str, tuple[tuple[str, ...], Any]] = {
            name: (dims, values[None]) for name, values in gates.items()
        }
        path = _stack([each.path for each in fitted.values()])
        path[..., ~exists.numpy()] = np.nan
        variables["gate_path"] = (("seed", "stage", "point", "layer", "head"), path[None])
        groups = {head: model.spec.kv_group(*head) for head in model.spec.heads()}
        coordinates = {
            "seed": [seed],
            "stage": list(STAGES),
            "point_step": (("stage", "point"), _stack([each.points for each in fitted.values()])),
            "loss": (
                ("seed", "stage", "step"),
                _stack([each.losses for each in fitted.values()])[None],
            ),
        }
        facts = {"examples_too_long": too_long}
        return Map.of(
            variables,
            provenance(model, task, self, seed) | facts,
            coordinates | head_coordinates(groups, shape),
        )


def _stack(arrays: list[Any]) -> np.ndarray[Any, Any]:
    """Stack arrays of different lengths; what is missing is NaN (−1 for integers)."""
    longest = max(len(array) for array in arrays)
    fill = np.nan if arrays[0].dtype.kind == "f" else -1
    whole = np.full((len(arrays), longest, *arrays[0].shape[1:]), fill, arrays[0].dtype)
    for row, array in zip(whole, arrays, strict=True):
        row[: len(array)] = array
    return whole
