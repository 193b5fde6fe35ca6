"""Attention: what every head attends to, in the patterns that heads are named by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.maps.importance import ATTENTION
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

SCORES = tuple(ATTENTION)
"""What can rank heads."""

FEWEST = 2
"""Examples that the score which ranks heads needs at least."""

MISSING = {
    "induction": "repeat a token",
    "duplicate_token": "repeat a token",
    "target_token": "hold the first token of their target",
}
"""What prompts must do for a score to exist; others need two tokens."""


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

    `score` names the one that ranks heads, the largest first; the others stand beside it. On
    prompts with demonstrations most tokens that occur earlier belong to their common template
    ("Q:", "A:"), so `induction` is mostly attention to it: to name heads, use the task `induction`.
    These numbers describe and say nothing of effects: compare them with `Ablation`. Examples
    without a position that counts are left out of a variable; the map's provenance counts the
    others in `examples_of`. Weights are those of the model's own eager attention, whatever
    implementation it was loaded with. See `ExampleMethod` for the other settings.

    >>> Attention(score="previous_token").settings()["score"]
    'previous_token'
    """

    score: str = "induction"

    name: ClassVar[str] = "attention"
    version: ClassVar[int] = 1
    variable: ClassVar[str] = "induction"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.score not in SCORES:
            raise HeadAtlasError(f"no score '{self.score}': use {', '.join(SCORES)}.")

    def reports(self, part: Part) -> int:
        return 1

    def forward_passes(self, model: Model, examples: int) -> float:
        return float(examples)

    def check(self, model: Model, task: Task, seeds: int = 1) -> list[str]:
        check_shows_attention(model.spec)
        task = task.for_tokenizer(model.tokenizer)
        measured = Measured.of(model, task, self.sample(task, 0), "logprob")
        patterns = self._patterns(task, measured)
        remarks = measured.remarks() + self.sample_remarks(task, seeds)
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
        patterns = self._patterns(task, measured)
        effects = Effects(model.spec, measured.examples, keep_examples=self.keep_examples)
        values = _scores(model, measured, patterns)
        for score in sorted(SCORES, key=lambda name: name != self.score):  # the ranking one first
            present = [_exists(own, score) for own in patterns]
            effects.add_all(score, values[score], present=present)
        if report is not None:
            report(f"seed {seed}, {len(patterns)} examples")
        even = [_even(own, self.score) for own in patterns if _exists(own, self.score)]
        facts: dict[str, Any] = measured.facts() | {"examples_of": effects.counts()}
        coordinates[f"{self.score}_even"] = (("seed",), [float(np.mean(even))])
        return self.map_of(model, task, seed, effects, facts, coordinates)

    def _patterns(self, task: Task, measured: Measured) -> list[dict[str, Pattern]]:
        """The patterns of every example; raises if hardly any has what ranks heads."""
        patterns = [patterns_of(row) for row in measured.rows]
        count = sum(_exists(own, self.score) for own in patterns)
        if count < FEWEST:
            needed = MISSING.get(self.score, "have at least two tokens")
            raise TaskError(
                f"{self.score} needs at least {FEWEST} prompts that {needed}, but only {count} of "
                f"{len(patterns)} examples of '{task.name}' do: use another score, or a task with "
                "demonstrations."
            )
        return patterns


def _exists(patterns: dict[str, Pattern], score: str) -> bool:
    """Whether an example has a score; the entropy counts where there is a previous token."""
    return patterns["previous_token" if score == "entropy" else score].exists


def _even(patterns: dict[str, Pattern], score: str) -> float:
    """What a head scores on an example that attends evenly to all tokens up to its own."""
    if score != "entropy":
        return patterns[score].even
    length = len(patterns["previous_token"].queries)
    return float(np.log(np.arange(2, length + 1)).mean())


def _scores(
    model: Model, measured: Measured, patterns: Sequence[dict[str, Pattern]]
) -> dict[str, FloatArray]:
    """Every variable on every example: example × layer × head. Heads that are used several times
    have the mean over their uses; heads that do not exist are NaN."""
    spec = model.spec
    shape = (len(patterns), spec.n_layers, spec.n_heads)
    totals = {variable: np.zeros(shape) for variable in SCORES}
    uses = np.zeros(shape)

    def score(number: int, layer: int, weights: Tensor) -> None:
        heads = slice(weights.shape[0])
        uses[number, layer, heads] += 1
        for variable, pattern in patterns[number].items():
            own = pattern.mean_weight(weights).cpu().double().numpy()
            totals[variable][number, layer, heads] += own
        totals["entropy"][number, layer, heads] += mean_entropy(weights).cpu().double().numpy()

    read_attention(model, [row.ids[:-1] for row in measured.rows], score)
    uses[uses == 0] = np.nan
    return {variable: total / uses for variable, total in totals.items()}
