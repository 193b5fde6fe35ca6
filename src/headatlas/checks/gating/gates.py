"""The learned gates of a map as matrices, and numbers of its seeds' questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from headatlas.errors import MapError
from headatlas.methods.replacement import replacement_vectors
from headatlas.stats.nested import Nested

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.checks.measure import Questions
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.tasks import Task

GATES = {"G": "gate", "G⁺": "gate_plus", "G⁻": "gate_minus"}
HARD = " (hard)"
"""A hard gate is 1 where the learned one reaches a threshold, else 0."""


def gate_matrix(gates: Map, name: str, seed: int, threshold: float = 0.5) -> Tensor:
    """A learned gate matrix by its short name (`G⁺`, `G⁻ (hard)`); missing heads are open.

    The threshold is for hard gates only.
    """
    short = name.removesuffix(HARD)
    if short not in GATES:
        raise MapError(f"no gates '{name}': there are {', '.join(GATES)}, each also with '{HARD}'.")
    values = gates[GATES[short]].sel(seed=seed).to_numpy()
    gate = torch.tensor(values, dtype=torch.float32).nan_to_num(1.0)
    return (gate >= threshold).float() if name.endswith(HARD) else gate


def closed_head_vectors(model: Model, task: Task, gates: Map, seed: int) -> Tensor | None:
    """What replaced closed heads in the fits of a map: the same vectors, or `None` for zero."""
    settings = gates.provenance.get("settings", {})
    return replacement_vectors(model, task, settings.get("replacement", "zero"), seed)


def seeds_of(gates: Map) -> list[int]:
    """The seeds of a map."""
    return [int(seed) for seed in gates["seed"].to_numpy()]


def by_question(questions: dict[int, Questions], values: dict[int, np.ndarray]) -> Nested:
    """Numbers of the questions of several seeds, with their seeds and prefixes."""
    of_seeds = {seed: questions[seed] for seed in values}
    return Nested(
        np.concatenate(list(values.values())),
        tuple(seed for seed, seed_questions in of_seeds.items() for _ in seed_questions.names),
        tuple(number for seed_questions in of_seeds.values() for number in seed_questions.prefixes),
        tuple(name for seed_questions in of_seeds.values() for name in seed_questions.names),
    )
