"""What takes the place of a removed head: nothing, its mean output, or that on another example."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.methods.alignment import align_at_ends
from headatlas.methods.encoding import encode_examples
from headatlas.models.run.mean_output import MEAN_EXAMPLES, mean_outputs
from headatlas.models.run.sweep import Source, SweepPlan

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.methods.measures import Measured
    from headatlas.models.model import Model
    from headatlas.tasks import Task

REPLACEMENTS = ("zero", "mean")
REMOVALS = (*REPLACEMENTS, "resample")
"""Gates are learned with one of the first two; heads can also be removed with the third."""

OTHER_DRAW = 1_000_000
"""Added to the seed that draws other examples, so that they are not the measured ones."""


def check_replacement(name: str, known: Sequence[str] = REPLACEMENTS) -> None:
    """Raise unless there is a replacement of that name."""
    if name not in known:
        raise HeadAtlasError(f"no replacement '{name}': use {' or '.join(known)}.")


def replacement_vectors(model: Model, task: Task, name: str, seed: int) -> Tensor | None:
    """The vectors (layer × head × d_head) that replace closed heads; `None` for zero.

    The mean is over all positions of training examples that the seed draws. Gates are learned and
    checked with these same vectors.
    """
    check_replacement(name)
    if name == "zero":
        return None
    task = task.for_tokenizer(model.tokenizer)
    known = _MEANS.setdefault(model, {})
    if (task.hash, seed) not in known:
        _, rows = encode_examples(model, task, task.prompts("train", seed, MEAN_EXAMPLES))
        known[task.hash, seed] = mean_outputs(model, rows)
    return known[task.hash, seed]


_MEANS: WeakKeyDictionary[Model, dict[tuple[str, int], Tensor]] = WeakKeyDictionary()
"""Mean outputs by task and seed: every part of a map uses the same."""


def replacement_passes(name: str, examples: int) -> int:
    """Forward passes that read what replaces heads; at most, for the mean.

    >>> replacement_passes("mean", 32), replacement_passes("resample", 32)
    (64, 32)
    """
    return {"mean": MEAN_EXAMPLES, "resample": examples}.get(name, 0)


def resampled(model: Model, task: Task, measured: Measured, seed: int) -> Source:
    """For every example, a training example of another question whose head outputs replace its own.

    The seed draws the training examples, which follow demonstrations of their own, and their order;
    see `align_at_ends` for which position gets the output of which.
    """
    task = task.for_tokenizer(model.tokenizer)
    prompts = task.prompts("train", OTHER_DRAW + seed, len(measured.examples))
    examples, rows = encode_examples(model, task, prompts)
    others = list(zip(examples, rows, strict=True))
    random.Random(f"{task.questions_hash} resample {seed}").shuffle(others)
    sources = []
    for number, example in enumerate(measured.examples):
        turned = [others[(number + k) % len(others)] for k in range(len(others))]
        different = [row for other, row in turned if other.question != example.question]
        if not different:
            raise TaskError(
                f"the train questions drawn from '{task.name}' are all the same as a measured one, "
                "so there is no other to resample from: use more examples, or the replacement zero "
                "or mean."
            )
        sources.append(different[0])
    chosen = tuple(sources[owner] for owner in measured.owner)
    return Source(chosen, align_at_ends(measured.rows, chosen))


def removal_plan(
    model: Model,
    task: Task,
    measured: Measured,
    replacement: str,
    seed: int,
    positions: tuple[tuple[int, ...], ...] | None = None,
) -> SweepPlan:
    """How heads are removed from examples: at all positions, or at some of every row."""
    if replacement == "resample":
        source = resampled(model, task, measured, seed)
        return SweepPlan(measured.rows, source=source, positions=positions)
    vectors = replacement_vectors(model, task, replacement, seed)
    return SweepPlan(measured.rows, vectors=vectors, positions=positions)
