"""Everyday common sense, five choices with shuffled letters (after CommonsenseQA, Talmor 2019)."""

from __future__ import annotations

import random

from headatlas.tasks.example import Example
from headatlas.tasks.forms import Form
from headatlas.tasks.splits import divide
from headatlas.tasks.suites.listed import read_list
from headatlas.tasks.task import Task

LETTERS = "abcde"


def commonsense() -> Task:
    """The letter of the right answer; in the corrupted prompt it stands at another letter."""
    chance = random.Random("commonsense 1")
    return Task(
        "commonsense",
        version=1,
        description="everyday questions with five lettered answers, after one solved example",
        splits=divide([_question(*row, chance=chance) for row in read_list("commonsense")]),
        form=Form("icl", 1),
        shots=1,
        instruction="Answer with the letter of the right choice.",
    )


def _question(asked: str, right: str, *wrong: str, chance: random.Random) -> Example:
    answers = chance.sample((right, *wrong), 5)
    turn = chance.randrange(1, 5)
    turned = answers[turn:] + answers[:turn]
    return Example(
        _prompt(asked, answers),
        f" {LETTERS[answers.index(right)]}",
        tuple(f" {letter}" for letter in LETTERS),
        corrupted=_prompt(asked, turned),
        corrupted_target=f" {LETTERS[turned.index(right)]}",
        group=asked,
        metadata={"answer": right},
    )


def _prompt(asked: str, answers: list[str]) -> str:
    listed = "".join(f"\n{letter}: {each}" for letter, each in zip(LETTERS, answers, strict=True))
    return f"Q: {asked}{listed}\nA:"
