"""Attention: what every head attends to, in the patterns that heads are named by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.maps.importance import ATTENTION
from headatlas.methods.effects import Effects
from headatlas.methods.example_method import ExampleMethod
from headatlas.methods.measures import Measured
from headatlas.methods.method import Inputs, Part, Report, verified_coordinates
from headatlas.methods.patterns import mean_entropy, patterns_of
from headatlas.models.run.attention_weights import check_shows_attention, read_attention
from headatlas.tasks import Task

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.models.tokens import Tokens
    from headatlas.stats.arrays import FloatArray

SCORES = tuple(ATTENTION)
"""What can rank heads."""

KEPT_PAIRS = 2**24
"""Pairs of a query and a key whose patterns are kept at a time: bounds the memory."""

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
        present = self._present(task, measured)
        remarks = measured.remarks() + self.sample_remarks(task, seeds)
        for variable in SCORES:
            count = sum(variable in own for own in present)
            if variable != "entropy" and count < len(present):
                remarks.append(
                    f"{variable} is measured on {count} of {len(present)} examples: the others "
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
        present = self._present(task, measured)
        effects = Effects(model.spec, measured.examples, keep_examples=self.keep_examples)
        values = _scores(model, measured)
        for score in sorted(SCORES, key=lambda name: name != self.score):  # the ranking one first
            effects.add_all(score, values[score], present=[score in own for own in present])
        if report is not None:
            report(f"seed {seed}, {len(present)} examples")
        even = [own[self.score] for own in present if self.score in own]
        facts: dict[str, Any] = measured.facts() | {"examples_of": effects.counts()}
        coordinates[f"{self.score}_even"] = (("seed",), [float(np.mean(even))])
        return self.map_of(model, task, seed, effects, facts, coordinates)

    def _present(self, task: Task, measured: Measured) -> list[dict[str, float]]:
        """The scores that every example has, with what even attention gives; raises if hardly any
        example has the one that ranks heads."""
        present = [even_scores(row) for row in measured.rows]
        count = sum(self.score in own for own in present)
        if count < FEWEST:
            needed = MISSING.get(self.score, "have at least two tokens")
            raise TaskError(
                f"{self.score} needs at least {FEWEST} prompts that {needed}, but only {count} of "
                f"{len(present)} examples of '{task.name}' do: use another score, or a task with "
                "demonstrations."
            )
        return present


def even_scores(row: Tokens) -> dict[str, float]:
    """The scores that a row has, each with that of a head which attends evenly to all tokens up to
    its own; the entropy counts where there is a previous token."""
    patterns = patterns_of(row)
    even = {name: pattern.even for name, pattern in patterns.items() if pattern.exists}
    if "previous_token" in even:
        length = len(patterns["previous_token"].queries)
        even["entropy"] = float(np.log(np.arange(2, length + 1)).mean())
    return even


def _scores(model: Model, measured: Measured) -> dict[str, FloatArray]:
    """Every variable on every example: example × layer × head. Heads that are used several times
    have the mean over their uses; heads that do not exist are NaN."""
    spec, rows = model.spec, measured.rows
    longest = max(len(row) for row in rows)
    # a row is asked for once a layer, with the others of its pass
    patterns = lru_cache(max(1, KEPT_PAIRS // longest**2))(lambda number: patterns_of(rows[number]))
    shape = (len(rows), spec.n_layers, spec.n_heads)
    totals = {variable: np.zeros(shape) for variable in SCORES}
    uses = np.zeros(shape)

    def score(number: int, layer: int, weights: Tensor) -> None:
        heads = slice(weights.shape[0])
        uses[number, layer, heads] += 1
        for variable, pattern in patterns(number).items():
            own = pattern.mean_weight(weights).cpu().double().numpy()
            totals[variable][number, layer, heads] += own
        totals["entropy"][number, layer, heads] += mean_entropy(weights).cpu().double().numpy()

    read_attention(model, [row.ids[:-1] for row in rows], score)
    uses[uses == 0] = np.nan
    return {variable: total / uses for variable, total in totals.items()}
