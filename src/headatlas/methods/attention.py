"""Attention: what every head attends to, in the patterns that heads are named by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from headatlas.errors import TaskError
from headatlas.methods.effects import Effects
from headatlas.methods.example_method import ExampleMethod
from headatlas.methods.measures import Measured
from headatlas.methods.method import Inputs, Part, Report, verified_coordinates
from headatlas.methods.patterns import Pattern, mean_entropy, patterns_of
from headatlas.models.run.attention_weights import check_shows_attention, read_attention
from headatlas.tasks import Task

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.stats.arrays import FloatArray

ENTROPY, SECOND = "entropy", "previous_token"
"""The entropy counts where there is a previous token."""

FEWEST = 2
"""Examples that the variable which ranks heads needs at least."""


@dataclass(frozen=True, kw_only=True)
class Attention(ExampleMethod):
    """Describe what every head attends to on the prompts of a task.

    `induction[l,h]` = mean over examples of the mean over positions i of Σ_j a[i, j + 1], where
    a[i, k] is the head's attention weight from i to k, and j runs over the positions with j + 1 < i
    that hold the token of i: attention to what followed earlier occurrences (Olsson et al. 2022).
    In the same way `previous_token`, `duplicate_token` (earlier occurrences of the token; Wang et
    al. 2022) and `first_token` (Xiao et al. 2023); `target_token` is the weight from the position
    that predicts the target to the target's first token where the prompt holds it, in the task
    `ioi` attention to the indirect object; `entropy` is that of the weights, in nats. The table in
    `methods.patterns` says which positions count in each.

    These numbers describe and say nothing of effects: compare them with `Ablation`. Examples
    without a position that counts are left out of a variable; the map's provenance counts the
    others in `examples_of`. Weights are those of the model's own eager attention, whatever
    implementation it was loaded with. See `ExampleMethod` for the settings.

    >>> Attention(examples=8).settings()["examples"]
    8
    """

    name: ClassVar[str] = "attention"
    version: ClassVar[int] = 1
    variable: ClassVar[str] = "induction"

    def reports(self, part: Part) -> int:
        return 1

    def check(self, model: Model, task: Task, seeds: int = 1) -> list[str]:
        check_shows_attention(model.spec)
        task = task.for_tokenizer(model.tokenizer)
        measured = Measured.of(model, task, self.sample(task, 0), "logprob")
        patterns = _patterns(task, measured)
        remarks = measured.remarks()
        for variable in patterns[0]:
            count = sum(own[variable].exists for own in patterns)
            if count < len(patterns):
                remarks.append(
                    f"{variable} is measured on {count} of {len(patterns)} examples: the others "
                    "have no such token"
                )
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
        """The map of a task."""
        coordinates = verified_coordinates(model, seed)
        task = task.for_tokenizer(model.tokenizer)
        measured = Measured.of(model, task, self.sample(task, seed), "logprob")
        patterns = _patterns(task, measured)
        effects = Effects(model.spec, measured.examples, keep_examples=self.keep_examples)
        for variable, values in _scores(model, measured, patterns).items():
            needed = SECOND if variable == ENTROPY else variable
            effects.add_all(variable, values, [own[needed].exists for own in patterns])
        if report is not None:
            report(f"seed {seed}, {len(patterns)} examples")
        even = [own[self.variable].even for own in patterns if own[self.variable].exists]
        facts: dict[str, Any] = measured.facts() | {"examples_of": effects.counts()}
        coordinates[f"{self.variable}_even"] = (("seed",), [float(np.mean(even))])
        return self.map_of(model, task, seed, effects, facts, coordinates)


def _patterns(task: Task, measured: Measured) -> list[dict[str, Pattern]]:
    """The patterns of every example; raises if hardly any repeats a token."""
    patterns = [patterns_of(row) for row in measured.rows]
    repeating = sum(own[Attention.variable].exists for own in patterns)
    if repeating < FEWEST:
        raise TaskError(
            f"induction needs prompts that repeat a token, but only {repeating} of {len(patterns)} "
            f"examples of '{task.name}' do: use demonstrations, or a task such as 'induction'."
        )
    return patterns


def _scores(
    model: Model, measured: Measured, patterns: Sequence[dict[str, Pattern]]
) -> dict[str, FloatArray]:
    """Every variable on every example: example × layer × head. Heads that are used several times
    have the mean over their uses; heads that do not exist are NaN."""
    spec = model.spec
    shape = (len(patterns), spec.n_layers, spec.n_heads)
    totals = {variable: np.zeros(shape) for variable in (*patterns[0], ENTROPY)}
    uses = np.zeros(shape)

    def score(number: int, layer: int, weights: Tensor) -> None:
        heads = slice(weights.shape[0])
        uses[number, layer, heads] += 1
        for variable, pattern in patterns[number].items():
            own = pattern.mean_weight(weights).double().cpu().numpy()
            totals[variable][number, layer, heads] += own
        totals[ENTROPY][number, layer, heads] += mean_entropy(weights).double().cpu().numpy()

    read_attention(model, [row.ids[:-1] for row in measured.rows], score)
    uses[uses == 0] = np.nan
    return {variable: total / uses for variable, total in totals.items()}
