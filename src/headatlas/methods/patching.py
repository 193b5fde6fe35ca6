"""Activation patching: what a head carries between the runs of a clean and a corrupted prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.methods.alignment import align_at_target, align_by_tokens
from headatlas.methods.effects import Effects
from headatlas.methods.example_method import ExampleMethod
from headatlas.methods.heads import as_heads, measured_without, parts_by_layer, sweep_passes
from headatlas.methods.measures import Measured, check_measure, endings_of
from headatlas.methods.method import Inputs, Part, Report, verified_coordinates
from headatlas.methods.positions import check_positions, predicting_positions
from headatlas.models.run.sweep import Source, SweepPlan
from headatlas.tasks import Example, Task

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.models.spec import Head, ModelSpec
    from headatlas.models.tokens import Tokens

DIRECTIONS = ("both", "denoise", "noise")


@dataclass(frozen=True, kw_only=True)
class Patching(ExampleMethod):
    """Causal mediation by single heads (Vig et al. 2020; Todd et al. 2024; Wang et al. 2023).

    Every example has a clean and a corrupted prompt. `indirect_effect[l,h]` = mean of
    y(corrupted, head (l,h) from the clean run) − y(corrupted): positive where the head carries what
    the corruption took away (denoising). `effect[l,h]` = mean of y(clean, head from the corrupted
    run) − y(clean): negative where the task needs what the head carries (noising). y is the
    `measure` of the clean target. Outputs are patched at the `last` position of the prompt, where
    the target is predicted, at all `positions`, or at those that were `changed`: the subject of a
    question, or the answers of shuffled demonstrations. Standard errors are over questions. (Todd
    et al. put in a head's mean over clean prompts and measure the target's probability; here it is
    the clean run of the same question, and log P unless the `measure` says otherwise.)

    >>> Patching(direction="noise").settings()["positions"]
    'last'
    """

    heads: tuple[Head, ...] | None = None
    direction: str = "both"
    positions: str = "last"
    measure: str = "logprob"

    name: ClassVar[str] = "patching"
    version: ClassVar[int] = 2
    variable: ClassVar[str] = "indirect_effect"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heads is not None:
            object.__setattr__(self, "heads", as_heads(self.heads))
        if self.direction not in DIRECTIONS:
            raise HeadAtlasError(f"no direction '{self.direction}': use {', '.join(DIRECTIONS)}.")
        check_positions(self.positions)
        check_measure(self.measure)

    def parts(self, spec: ModelSpec) -> list[Part]:
        """One part per layer."""
        return parts_by_layer(spec, self.heads)

    def reports(self, part: Part) -> int:
        return len(part["heads"]) * len(self._variables())

    def forward_passes(self, model: Model, examples: int) -> float:
        ways = len(self._variables())  # each also reads the outputs that are put in
        return examples * ways * (1 + sweep_passes(model, self.heads))

    def check(self, model: Model, task: Task, seeds: int = 1) -> list[str]:
        task = task.for_tokenizer(model.tokenizer)
        pairs = _Pairs.of(model, task, self.sample(task, 0), self.measure)
        return pairs.with_positions(task, self.positions).remarks() + self.sample_remarks(
            task, seeds
        )

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
        """The map of a task; with `part`, only its heads."""
        coordinates = verified_coordinates(model, seed)
        parts = [part] if part is not None else self.parts(model.spec)
        heads = [(layer, head) for piece in parts for layer, head in piece["heads"]]
        task = task.for_tokenizer(model.tokenizer)
        pairs = _Pairs.of(model, task, self.sample(task, seed), self.measure)
        pairs = pairs.with_positions(task, self.positions)
        effects = Effects(model.spec, pairs.clean.examples, keep_examples=self.keep_examples)
        facts = pairs.facts()
        for variable in self._variables():
            into, source = pairs.clean, pairs.corrupted
            if variable == "indirect_effect":
                into, source = source, into
            sweep = model.sweep(_plan(into.rows, source.rows, self.positions))
            plain = into.values(sweep.plain).cpu().double()
            facts["clean_value" if into is pairs.clean else "corrupted_value"] = float(plain.mean())
            for head, values in measured_without(sweep, into, heads, [(head,) for head in heads]):
                effects.add(variable, head, (values - plain).numpy())
                if report is not None:
                    report(f"seed {seed}, head {head[0]}.{head[1]}")
        return self.map_of(model, task, seed, effects, facts, coordinates)

    def _variables(self) -> tuple[str, ...]:
        both = {"denoise": "indirect_effect", "noise": "effect"}
        return tuple(name for way, name in both.items() if self.direction in ("both", way))


@dataclass(frozen=True)
class _Pairs:
    """Examples with a clean and a corrupted prompt; rows belong together by number."""

    clean: Measured
    corrupted: Measured
    examples: int
    without_corrupted: int
    too_long: int

    @classmethod
    def of(cls, model: Model, task: Task, examples: Sequence[Example], measure: str) -> _Pairs:
        pairs = [example for example in examples if example.corrupted is not None]
        if not pairs:
            raise TaskError(
                f"'{task.name}' has no corrupted prompts to patch from: use a task with a column "
                "'corrupted', or one whose demonstrations can be shuffled, in the form ':icl'."
            )
        fitting = [example for example in pairs if _fits(model, example, measure)]
        clean = Measured.of(model, task, fitting or pairs, measure)
        texts = [replace(example, prompt=example.corrupted or "") for example in clean.examples]
        corrupted = Measured.of(model, task, texts, measure)
        return cls(
            clean,
            corrupted,
            len(examples),
            len(examples) - len(pairs),
            len(pairs) - len(fitting) + clean.left_out,
        )

    def with_positions(self, task: Task, positions: str) -> _Pairs:
        """The pairs that differ, and where only changed positions are patched those that have some
        in both prompts."""
        rows = zip(self.clean.rows, self.corrupted.rows, self.clean.owner, strict=True)
        differs = [False] * len(self.clean.examples)
        for row, other, number in rows:
            if positions == "changed":
                ways = (row, other), (other, row)
                differs[number] |= all(align_by_tokens(*way)[1] for way in ways)
            else:
                differs[number] |= row != other
        if all(differs):
            return self
        clean, corrupted = (
            measured.only_changed(task, differs) for measured in (self.clean, self.corrupted)
        )
        return replace(self, clean=clean, corrupted=corrupted)

    def remarks(self) -> list[str]:
        counts = {
            "have no corrupted prompt": self.without_corrupted,
            "are too long": self.too_long,
            "have no other answer to compare with": self.clean.without_others,
            "have no position that corruption changes": self.clean.unchanged,
        }
        return [
            f"{count} of {self.examples} examples {why} and are left out"
            for why, count in counts.items()
            if count
        ]

    def facts(self) -> dict[str, Any]:
        facts = {**self.clean.facts(), "examples_too_long": self.too_long}
        return facts | {"examples_without_corrupted": self.without_corrupted}


def _fits(model: Model, example: Example, measure: str) -> bool:
    """Whether the corrupted prompt of an example fits the context with all its endings."""
    texts = [(example.corrupted or "", ending) for ending in endings_of(example, measure)]
    return None not in model.encode_fitting(texts)


def _plan(rows: tuple[Tokens, ...], sources: tuple[Tokens, ...], positions: str) -> SweepPlan:
    """Rows whose closed heads get the outputs of their sources."""
    pairs = list(zip(rows, sources, strict=True))
    if positions == "last":
        last = tuple(align_at_target(row, other) for row, other in pairs)
        return SweepPlan(rows, source=Source(sources, last), positions=predicting_positions(rows))
    aligned = [align_by_tokens(row, other) for row, other in pairs]
    where = tuple(changed for _, changed in aligned) if positions == "changed" else None
    return SweepPlan(
        rows, source=Source(sources, tuple(places for places, _ in aligned)), positions=where
    )
