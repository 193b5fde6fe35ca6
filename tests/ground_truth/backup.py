"""A model with a backup head, by construction: the head that fetches the answer has a twin.

The twin is a copy of all its weights in the place of a head of the same layer that only made noise.
Either of the two is the head that the model was trained with, so nothing is missed when one of them
is removed; without both, nothing fetches the answer.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

from transformers import LlamaForCausalLM

from ground_truth.trained import HEADS, Head, Trained, head_weights
from ground_truth.truth import Truth, attention, attention_to_answer, fresh_rows


@dataclass(frozen=True)
class WithBackup:
    """A model, and the two heads of which either is enough."""

    hf: LlamaForCausalLM
    pair: tuple[Head, Head]


def add_backup(trained: Trained, truth: Truth) -> WithBackup:
    """Copy the responsible head that looks most at the answer into the place of a noisy one."""
    rows = fresh_rows(trained.puzzle)
    looks = attention_to_answer(attention(trained.hf, rows), rows)
    original = max(sorted(truth.responsible), key=lambda head: float(looks[head]))
    places = [(original[0], number) for number in range(HEADS)]
    twin = next(place for place in places if place not in trained.kept)
    hf = copy.deepcopy(trained.hf)
    for name, weights in head_weights(hf, original).items():
        head_weights(hf, twin)[name].copy_(weights)
    return WithBackup(hf, (original, twin))
