"""What takes the place of a removed head: nothing, its mean output, or that on another example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headatlas.errors import HeadAtlasError
from headatlas.methods.alignment import align_at_ends
from headatlas.methods.encoding import encode_examples
from headatlas.models.run.mean_output import MEAN_EXAMPLES, mean_outputs
from headatlas.models.run.sweep import Source

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.models.model import Model
    from headatlas.models.tokens import Tokens
    from headatlas.tasks import Task

REPLACEMENTS = ("zero", "mean")
REMOVALS = (*REPLACEMENTS, "resample")
"""Gates are learned with one of the first two; heads can also be removed with the third."""


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
    _, rows = encode_examples(model, task, task.prompts("train", seed, MEAN_EXAMPLES))
    return mean_outputs(model, rows)


def resampled(model: Model, task: Task, rows: Sequence[Tokens], seed: int) -> Source:
    """For every row, a training example of the same task whose head outputs replace its own.

    The training examples are drawn by the seed, after demonstrations of their own; see
    `align_at_ends` for which position gets the output of which.
    """
    task = task.for_tokenizer(model.tokenizer)
    _, others = encode_examples(model, task, task.prompts("train", seed, len(rows)))
    chosen = tuple(others[i % len(others)] for i in range(len(rows)))
    return Source(chosen, align_at_ends(rows, chosen))
