"""Knockout: the few heads that a task needs most, found with few removals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from headatlas.errors import HeadAtlasError
from headatlas.maps import Map
from headatlas.methods.effects import Effects
from headatlas.methods.example_method import ExampleMethod
from headatlas.methods.heads import closed_gates
from headatlas.methods.measures import Measured, check_measure
from headatlas.methods.method import Inputs, Part, Report, verified_coordinates
from headatlas.methods.replacement import (
    REMOVALS,
    check_replacement,
    removal_plan,
    replacement_passes,
)
from headatlas.methods.sparse_search import Evaluate, SparseSearch
from headatlas.stats.arrays import FloatArray
from headatlas.tasks import Task

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.run.sweep import Sweep
    from headatlas.models.spec import Head, ModelSpec

SHARE, FEWEST = 3, 48
"""By default one evaluation for three heads, and at least this number."""

ALONE, IN_COMPANY = 1.0, 2.0
"""How the effect of a head was measured; 0 where it is an estimate."""


@dataclass(frozen=True, kw_only=True)
class Knockout(ExampleMethod):
    """Sparse search for the heads whose removal hurts most, with few `evaluations`.

    An evaluation removes a set of heads and measures all examples. Most remove several heads at
    random; a Lasso (Tibshirani 1996) on their results, y(S) − y = Σ over heads in S of effect,
    names the suspicious heads, which are then removed alone; see `sparse_search`. `effect` is
    exact where `alone` is 1, as in `Ablation`, and an estimate elsewhere; of heads that stand in
    for each other it is the change by the head's removal beside other removed ones, where `alone`
    is 2. `evaluations` is a third of the number of heads unless given, and at least 48. Estimates
    have no standard error, and how reliable a map is only several seeds tell. Only heads that were
    removed alone have p-values, corrected for all heads.

    >>> Knockout(evaluations=90).settings()["evaluations"]
    90
    """

    evaluations: int | None = None
    replacement: str = "zero"
    measure: str = "logprob"

    name: ClassVar[str] = "knockout"
    version: ClassVar[int] = 2
    variable: ClassVar[str] = "effect"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_replacement(self.replacement, REMOVALS)
        check_measure(self.measure)
        if self.evaluations is not None and not (
            type(self.evaluations) is int and self.evaluations >= 2
        ):
            raise HeadAtlasError(f"knockout needs at least 2 evaluations, not {self.evaluations}.")

    def evaluations_of(self, spec: ModelSpec) -> int:
        """How many sets of heads are removed."""
        return self.evaluations or usual_evaluations(spec)

    def parts(self, spec: ModelSpec) -> list[Part]:
        return [{"evaluations": self.evaluations_of(spec)}]

    def reports(self, part: Part) -> int:
        return int(part["evaluations"])

    def forward_passes(self, model: Model, examples: int) -> float:
        passes = examples * (1 + self.evaluations_of(model.spec))
        return float(passes + replacement_passes(self.replacement, examples))

    def check(self, model: Model, task: Task, seeds: int = 1) -> list[str]:
        task = task.for_tokenizer(model.tokenizer)
        remarks = Measured.of(model, task, self.sample(task, 0), self.measure).remarks()
        return remarks + self._fewer_examples(task) + self._few_evaluations(model.spec)

    def _few_evaluations(self, spec: ModelSpec) -> list[str]:
        """A remark if there are fewer evaluations than by default."""
        usual, number = usual_evaluations(spec), self.evaluations_of(spec)
        if number >= usual:
            return []
        return [
            f"{number} evaluations say little of {len(spec.heads())} heads: the default is {usual}"
        ]

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
        coordinates = verified_coordinates(model, seed)
        task = task.for_tokenizer(model.tokenizer)
        measured = Measured.of(model, task, self.sample(task, seed), self.measure)
        sweep = model.sweep(removal_plan(model, task, measured, self.replacement, seed))
        heads = model.spec.heads()
        search = SparseSearch(
            len(heads),
            self.evaluations_of(model.spec),
            _evaluator(sweep, measured, heads, seed, report),
            f"{task.questions_hash} knockout {seed}",
        )
        search.run()
        if report is not None:
            for _ in range(search.budget - len(search.removed)):
                report(f"seed {seed}, every head is measured")
        effects = _effects(search, model.spec, measured, keep_examples=self.keep_examples)
        facts = measured.facts() | {
            "evaluations": len(search.removed),
            "baseline_value": float(measured.values(sweep.plain).mean()),
        }
        return self.map_of(model, task, seed, effects, facts, coordinates)


def usual_evaluations(spec: ModelSpec) -> int:
    """How many sets of heads are removed by default."""
    return max(FEWEST, len(spec.heads()) // SHARE)


def _evaluator(
    sweep: Sweep, measured: Measured, heads: list[Head], seed: int, report: Report | None
) -> Evaluate:
    """A function that removes sets of heads, given by number."""
    plain = measured.values(sweep.plain).cpu().double()  # example

    def evaluate(sets: Sequence[Sequence[int]]) -> FloatArray:
        closed = [tuple(heads[number] for number in some) for some in sets]
        changes = []
        for some in sweep.in_passes(closed):
            values = measured.values(sweep.scores(closed_gates(sweep.model.spec, some)))
            changes.append((values.cpu().double() - plain).numpy())
            for own in some:
                if report is not None:
                    report(f"seed {seed}, {len(own)} heads removed")
        return np.concatenate(changes)

    return evaluate


def _effects(
    search: SparseSearch, spec: ModelSpec, measured: Measured, *, keep_examples: bool
) -> Effects:
    """What was measured of every head, or is ascribed to it."""
    examples = range(len(measured.examples))
    values = np.stack([search.estimates(np.array(search.changes)[:, i]) for i in examples])
    alone = np.zeros(len(spec.heads()))  # by number, as in `values`: example head
    for head, own in search.alone.items():
        values[:, head], alone[head] = own, ALONE
    for head, own in search.in_company.items():
        if own.mean() < values[:, head].mean():
            values[:, head], alone[head] = own, IN_COMPANY
    effects = Effects(spec, measured.examples, keep_examples=keep_examples)
    by_layer = _by_layer(spec, alone)
    effects.add_all("effect", _by_layer(spec, values), measured=by_layer > 0)
    effects.add_fact("alone", by_layer)
    return effects


def _by_layer(spec: ModelSpec, values: FloatArray) -> FloatArray:
    """Numbers of all heads, … × head, as … × layer × head; NaN where there is no head."""
    placed = np.full((*values.shape[:-1], spec.n_layers, spec.n_heads), np.nan)
    layers, heads = zip(*spec.heads(), strict=True)
    placed[..., layers, heads] = values
    return placed
