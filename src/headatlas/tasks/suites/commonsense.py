"""`commonsense`: everyday questions with five choices in random order.

The format is that of CommonsenseQA (Talmor et al. 2019); the questions are our own.
"""

from __future__ import annotations

import random

from headatlas.tasks.example import Example
from headatlas.tasks.forms import Form
from headatlas.tasks.splits import divide
from headatlas.tasks.suites.listed import read_list
from headatlas.tasks.task import Task

LETTERS = "abcde"


def commonsense() -> Task:
    """Give the letter of the right answer; in the corrupted prompt it has another letter."""
    rng = random.Random("commonsense 1")
    return Task(
        "commonsense",
        version=1,
        description="everyday questions with five lettered answers",
        splits=divide([_question(*row, rng=rng) for row in read_list("commonsense")]),
        form=Form("icl", 1),
        shots=1,
        instruction="Answer with the letter of the right choice.",
    )


def _question(question: str, right: str, *wrong: str, rng: random.Random) -> Example:
    answers = rng.sample((right, *wrong), 5)
    shift = rng.randrange(1, 5)
    rotated = answers[shift:] + answers[:shift]
    return Example(
        _prompt(question, answers),
        f" {LETTERS[answers.index(right)]}",
        tuple(f" {letter}" for letter in LETTERS),
        corrupted=_prompt(question, rotated),
        corrupted_target=f" {LETTERS[rotated.index(right)]}",
        group=question,
        metadata={"answer": right},
    )


def _prompt(question: str, answers: list[str]) -> str:
    listed = "".join(
        f"\n{letter}: {answer}" for letter, answer in zip(LETTERS, answers, strict=True)
    )
    return f"Q: {question}{listed}\nA:"
