"""Questions written as prompts: demonstrations before them, and their corrupted versions."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headatlas.errors import TaskError
from headatlas.tasks.example import Example
from headatlas.tasks.forms import as_chat, as_text

if TYPE_CHECKING:
    from headatlas.tasks.task import Task


def write_prompts(
    task: Task, questions: Sequence[Example], shots: Sequence[Example], rng: random.Random
) -> list[Example]:
    """The questions as the model sees them in the task's form, all after the same demonstrations.

    A corrupted prompt is the question's own, or else the question after corrupted demonstrations.
    """
    corrupted_shots: list[Example] = []
    if task.form.kind == "icl":
        corrupted_shots = corrupt_demonstrations(shots, shuffle=task.shuffling_corrupts, rng=rng)
    prompts = []
    for question in questions:
        prompt = _write(task, question, shots)
        corrupted = None
        if question.corrupted is not None:
            corrupted = _write(task, replace(question, prompt=question.corrupted), shots).prompt
        elif corrupted_shots and (task.shuffling_corrupts or question.corrupted_target is not None):
            corrupted = _write(task, question, corrupted_shots).prompt
        corrupted_target = prompt.corrupted_target if corrupted is not None else None
        prompts.append(
            replace(
                prompt,
                corrupted=corrupted,
                corrupted_target=corrupted_target,
                group=question.question,  # whatever demonstrations come before it
            )
        )
    return prompts


def _write(task: Task, question: Example, shots: Sequence[Example]) -> Example:
    instruction = task.instruction if task.form.kind == "instruction" else ""
    if not task.form.chat:
        return as_text(question, shots, instruction, task.separator)
    if task.tokenizer is None:
        raise TaskError(
            f"'{task.name}' needs a model's chat template: call task.for_tokenizer first."
        )
    return as_chat(question, shots, instruction, task.tokenizer)


def corrupt_demonstrations(
    shots: Sequence[Example], *, shuffle: bool, rng: random.Random
) -> list[Example]:
    """The demonstrations with wrong answers; empty if there is no way to make them wrong.

    If every demonstration has a wrong answer of its own, that is used. Otherwise, with `shuffle`,
    the answers are permuted so that as few as possible stay where they were.
    """
    if all(shot.corrupted is None and shot.corrupted_target for shot in shots):
        return [replace(shot, target=shot.corrupted_target or "") for shot in shots]
    if not shuffle or len({shot.target for shot in shots}) < 2:
        return []
    largest = max(Counter(shot.target for shot in shots).values())
    # equal answers are neighbors in this order, so shifting by the largest group changes them
    order = sorted(range(len(shots)), key=lambda i: (shots[i].target, rng.random()))
    source = {i: order[(place + largest) % len(order)] for place, i in enumerate(order)}
    return [replace(shot, target=shots[source[i]].target) for i, shot in enumerate(shots)]
