"""Zero ablation: what a task loses when one head is removed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.maps import Map
from headatlas.methods.encoding import encode_examples
from headatlas.methods.method import Inputs, Method, Part, Report, provenance, verified_coordinates
from headatlas.models.edit import Edit
from headatlas.stats.clustered import mean_se
from headatlas.tasks import Example, Task
from headatlas.tasks.functions import in_order

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.spec import Head, ModelSpec
    from headatlas.models.tokens import Tokens

HALVES = 2


@dataclass(frozen=True)
class Ablation(Method[Task]):
    """Remove every head alone (gate 0 at every position) and measure the task.

    `effect[l,h]` = mean log P(target | head (l,h) removed) − mean log P(target), where the mean is
    over a target's tokens, then over examples. Negative: the task needs the head. `effect_se` is
    the standard error of that mean over questions, given this seed's demonstrations. `heads`
    restricts the work to some heads, the others are NaN; `examples` is the number of test examples,
    drawn by the seed (`None`: all). With `by_function`, whole questions are drawn until there are
    that many examples, and every cognitive function that their steps need has its own effect;
    `effect_half` is that of every other question, by which the map's reliability is known.

    >>> Ablation(examples=8).settings()
    {'examples': 8}
    """

    heads: tuple[Head, ...] | None = None
    examples: int | None = 32
    by_function: bool = False

    name: ClassVar[str] = "ablation"
    version: ClassVar[int] = 3
    variable: ClassVar[str] = "effect"
    subject: ClassVar[type] = Task

    def __post_init__(self) -> None:
        if self.heads is not None:
            object.__setattr__(self, "heads", _as_heads(self.heads))
        if self.examples is not None and not (type(self.examples) is int and self.examples >= 2):
            raise HeadAtlasError(f"ablation needs at least 2 examples, not {self.examples!r}.")

    def settings(self) -> dict[str, Any]:
        only = {"by_function": True} if self.by_function else {}
        return {"examples": self.examples, **only}

    def parts(self, spec: ModelSpec) -> list[Part]:
        """One part per layer."""
        wanted = sorted(set(self.heads)) if self.heads is not None else spec.heads()
        for head in wanted:
            spec.check_head(head)
        layers = sorted({layer for layer, _ in wanted})
        return [{"heads": [list(head) for head in wanted if head[0] == at]} for at in layers]

    def reports(self, part: Part) -> int:
        return len(part["heads"])

    def check(self, model: Model, task: Task, seeds: int = 1) -> list[str]:
        task = task.for_tokenizer(model.tokenizer)
        examples = self._sample(task, 0)
        used, _ = self._rows(model, task, examples)
        remarks = []
        if left_out := len(examples) - len(used):
            remarks.append(f"{left_out} of {len(examples)} examples are too long and are left out")
        if seeds > 1 and examples == self._sample(task, 1):
            remarks.append(
                "all seeds give the same map: the task has no more test questions to sample"
            )
        return remarks

    def _sample(self, task: Task, seed: int) -> list[Example]:
        if self.by_function:
            return whole_questions(task, seed, self.examples)
        return task.prompts("test", seed, self.examples)

    def _rows(
        self, model: Model, task: Task, examples: list[Example]
    ) -> tuple[list[Example], list[Tokens]]:
        used, rows = encode_examples(model, task, examples)
        if len(rows) < 2:
            raise TaskError(
                f"ablation needs at least 2 examples, but '{task.name}' has {len(rows)} to use."
            )
        return used, rows

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
        task = task.for_tokenizer(model.tokenizer)
        examples = self._sample(task, seed)
        used, rows = self._rows(model, task, examples)
        groups = self._groups(used)
        spec = model.spec
        effect = np.full((len(groups), spec.n_layers, spec.n_heads), np.nan)
        error = np.full_like(effect, np.nan)
        by_half = np.full((HALVES, *effect.shape), np.nan)
        places = {question: i for i, question in enumerate(dict.fromkeys(e.question for e in used))}
        half_of = np.array([places[example.question] % HALVES for example in used])
        with torch.no_grad():
            plain = model.score(rows).mean().double()
            for layer, head in (head for piece in parts for head in piece["heads"]):
                edit = Edit.ablate(spec, [(layer, head)])
                change = (model.score(rows, edit).mean().double() - plain).cpu().numpy()  # example
                for number, own in enumerate(groups.values()):
                    effect[number, layer, head] = change[own].mean()
                    questions = [used[i].question for i in own]
                    error[number, layer, head] = mean_se(change[own], questions)
                    for half in range(HALVES):
                        if (there := half_of[own] == half).any():
                            by_half[half, number, layer, head] = change[own][there].mean()
                if report is not None:
                    report(f"seed {seed}, head {layer}.{head}")
        facts = {
            "examples_used": len(rows),
            "examples_too_long": len(examples) - len(rows),
            "baseline_logprob": float(plain.mean()),
        }
        dims: tuple[str, ...] = ("seed", "layer", "head")
        counts = [len({used[i].question for i in own}) for own in groups.values()]
        names: dict[str, Any] = {"questions": (("seed",), counts)}
        if self.by_function:
            dims = ("function", *dims)
            names = {
                "function": list(groups),
                "questions": (("function", "seed"), [[n] for n in counts]),
            }
            effect, error, by_half = effect[:, None], error[:, None], by_half[:, :, None]
        variables = {"effect": (dims, effect), "effect_se": (dims, error)}
        if self.by_function:
            variables["effect_half"] = (("half", *dims), by_half)
        return Map.of(
            variables,
            provenance(model, task, self, seed) | facts,
            coordinates | names,
        )

    def _groups(self, examples: list[Example]) -> dict[str, list[int]]:
        """The examples, by number, that one effect is the mean of: all, or each function's."""
        if not self.by_function:
            return {"": list(range(len(examples)))}
        labels = [str(example.function) for example in examples]
        return {
            name: [i for i, label in enumerate(labels) if label == name]
            for name in in_order(labels)
        }


def whole_questions(task: Task, seed: int, limit: int | None) -> list[Example]:
    """All labelled test examples of questions that the seed draws, until there are `limit`."""
    steps: dict[str, list[Example]] = {}
    for example in task.prompts("test", seed):
        if example.function is not None:
            steps.setdefault(example.question, []).append(example)
    if not steps:
        raise TaskError(f"no test example of '{task.name}' says what function it needs.")
    order = random.Random(f"{task.questions_hash} whole {seed}").sample(list(steps), len(steps))
    sampled: list[Example] = []
    for question in order:
        if limit is not None and len(sampled) >= limit:
            break
        sampled += steps[question]
    return sampled


def _as_heads(heads: Sequence[Sequence[int]]) -> tuple[Head, ...]:
    """Pairs of any integers as heads. Raises `HeadAtlasError` for anything else."""
    try:
        pairs = tuple((index(layer), index(head)) for layer, head in heads)
    except (TypeError, ValueError):
        raise HeadAtlasError(
            f"heads are pairs (layer, head), such as ((0, 1), (3, 5)), not {heads!r}."
        ) from None
    if not pairs:
        raise HeadAtlasError("no heads were given: name some, or leave heads out for all.")
    return pairs
