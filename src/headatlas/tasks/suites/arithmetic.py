"""`math`: sums and short word problems with worked solutions, in five levels."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from headatlas.tasks.example import Example
from headatlas.tasks.forms import Form
from headatlas.tasks.splits import divide
from headatlas.tasks.suites.word_problems import NAMES, ONE_STEP, THINGS, TWO_STEPS, tell
from headatlas.tasks.task import Task

PER_LEVEL = 120


@dataclass(frozen=True)
class Problem:
    """A question, its worked solution, and the calculation behind it: the question's key."""

    question: str
    solution: str
    result: int
    calculation: str


Template = Callable[[random.Random], Problem]
"""A problem whose words are fixed: draws its numbers."""

TemplateMaker = Callable[[random.Random], Template]
"""A level: draws the words of a problem."""


def math() -> Task:
    """Levels 1–3: one-digit sums, two-digit sums, products and quotients; 4 and 5: word problems.

    The corrupted prompt asks the same with other numbers.
    """
    rng = random.Random("math 1")
    exercises = [
        exercise
        for level, make_template in enumerate(LEVELS, start=1)
        for exercise in _draw(level, make_template, rng)
    ]
    by_prompt = {exercise.example.prompt: exercise for exercise in exercises}
    splits = divide([exercise.example for exercise in exercises])
    taken = {exercise.example.group for exercise in exercises}
    return Task(
        "math",
        version=1,
        description="arithmetic and word problems with worked solutions",
        splits={
            split: tuple(
                _corrupt(by_prompt[example.prompt], splits[split], taken, rng)
                for example in splits[split]
            )
            for split in splits
        },
        form=Form("icl", 1),
        shots=1,
        instruction="Solve the problem step by step.",
        measure="logprob",
    )


@dataclass(frozen=True)
class _Exercise:
    """A question, and the template that can draw it again with other numbers."""

    example: Example
    template: Template


def _draw(level: int, make_template: TemplateMaker, rng: random.Random) -> list[_Exercise]:
    """Different questions of one level."""
    by_prompt: dict[str, _Exercise] = {}
    while len(by_prompt) < PER_LEVEL:
        template = make_template(rng)
        example = _example(level, template(rng))
        by_prompt.setdefault(example.prompt, _Exercise(example, template))
    return list(by_prompt.values())


def _example(level: int, problem: Problem) -> Example:
    return Example(
        f"Q: {problem.question}\nA:",
        f" {problem.solution}",
        group=problem.calculation,
        metadata={"level": level, "result": problem.result},
    )


def _corrupt(
    exercise: _Exercise, own_split: Sequence[Example], taken: set[str], rng: random.Random
) -> Example:
    """The same words with other numbers of the same length and another result.

    The corrupted question is new to the task. Where there are too few numbers for that, it is a
    question of the same split, so that no split gives away an answer of another one.
    """
    example = exercise.example
    redrawn = (_example(0, exercise.template(rng)) for _ in range(300))
    new = (candidate for candidate in redrawn if candidate.group not in taken)
    for other in (*new, *rng.sample(own_split, len(own_split))):
        same_shape = _shape(other.prompt) == _shape(example.prompt)
        if same_shape and other.metadata["result"] != example.metadata["result"]:
            return replace(example, corrupted=other.prompt, corrupted_target=other.target)
    return example


def _shape(text: str) -> str:
    return "".join("0" if letter.isdigit() else letter for letter in text)


def _one_digit(rng: random.Random) -> Template:
    sign = rng.choice("+-")

    def draw(rng: random.Random) -> Problem:
        one, two = rng.randint(1, 9), rng.randint(1, 9)
        if sign == "+":
            return _solved(f"{one} + {two}", one + two)
        one, two = max(one, two), min(one, two)
        return _solved(f"{one} - {two}", one - two)

    return draw


def _solved(calculation: str, result: int) -> Problem:
    question = f"What is {calculation}?"
    solution = f"{calculation} = {result}. The answer is {result}."
    return Problem(question, solution, result, _key(calculation))


def _two_digits(rng: random.Random) -> Template:
    sign = rng.choice("+-")

    def draw(rng: random.Random) -> Problem:
        one, two = sorted((rng.randint(11, 89), rng.randint(11, 89)), reverse=True)
        direction = 1 if sign == "+" else -1
        tens, ones = two // 10 * 10, two % 10
        first, result = one + direction * tens, one + direction * two
        steps = f"{one} {sign} {tens} = {first}."
        if ones:
            steps += f" {first} {sign} {ones} = {result}."
        calculation = f"{one} {sign} {two}"
        solution = f"{steps} The answer is {result}."
        return Problem(f"What is {calculation}?", solution, result, _key(calculation))

    return draw


def _table(rng: random.Random) -> Template:
    sign = rng.choice("*/")

    def draw(rng: random.Random) -> Problem:
        one, two = rng.randint(2, 12), rng.randint(2, 12)
        if sign == "*":
            return _solved(f"{one} * {two}", one * two)
        return _solved(f"{one * two} / {one}", two)

    return draw


def _story(stories: tuple[str, ...], rng: random.Random) -> Template:
    story, name, thing = rng.choice(stories), rng.choice(NAMES), rng.choice(THINGS)

    def draw(rng: random.Random) -> Problem:
        question, steps, result, calculation = tell(story, name, thing, rng)
        solution = f"{steps} The answer is {result}."
        return Problem(question, solution, result, _key(calculation))

    return draw


def _key(calculation: str) -> str:
    """The calculation, the same for 3 + 4 and 4 + 3: another wording is not another question."""
    for sign in (" + ", " * "):
        parts = calculation.split(sign)
        if len(parts) == 2 and all(part.isdigit() for part in parts):
            return sign.join(sorted(parts, key=int))
    return calculation


LEVELS: tuple[TemplateMaker, ...] = (
    _one_digit,
    _two_digits,
    _table,
    partial(_story, ONE_STEP),
    partial(_story, TWO_STEPS),
)
