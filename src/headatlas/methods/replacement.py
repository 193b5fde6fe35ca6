"""What takes the place of a head whose gate is closed: nothing, or the head's mean output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.errors import HeadAtlasError
from headatlas.methods.encoding import encode_examples
from headatlas.models.run.mean_output import MEAN_EXAMPLES, mean_outputs

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.models.model import Model
    from headatlas.tasks import Task

REPLACEMENTS = ("zero", "mean")


def check_replacement(name: str) -> None:
    """Raise unless there is a replacement of that name."""
    if name not in REPLACEMENTS:
        raise HeadAtlasError(f"no replacement '{name}': use {' or '.join(REPLACEMENTS)}.")


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
