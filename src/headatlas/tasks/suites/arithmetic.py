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

    asked: str
    solution: str
    result: int
    calculation: str


Sheet = Callable[[random.Random], Problem]
"""A kind of problem with its words fixed: draws the numbers."""

Maker = Callable[[random.Random], Sheet]


def math() -> Task:
    """Levels 1–3: one-digit sums, two-digit sums, products and quotients; 4 and 5: word problems.

    The corrupted prompt asks the same with other numbers.
    """
    chance = random.Random("math 1")
    drawn = [each for level, make in enumerate(LEVELS, 1) for each in _draw(level, make, chance)]
    bare = {each.example.prompt: each for each in drawn}
    splits = divide([each.example for each in drawn])
    taken = {each.example.group for each in drawn}
    return Task(
        "math",
        version=1,
        description="arithmetic and word problems with worked solutions, after one solved example",
        splits={
            split: tuple(
                _corrupt(bare[example.prompt], splits[split], taken, chance)
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
class _Drawn:
    """A question, and the sheet that can draw it with other numbers."""

    example: Example
    sheet: Sheet


def _draw(level: int, make: Maker, chance: random.Random) -> list[_Drawn]:
    drawn: dict[str, _Drawn] = {}
    while len(drawn) < PER_LEVEL:
        sheet = make(chance)
        example = _example(level, sheet(chance))
        drawn.setdefault(example.prompt, _Drawn(example, sheet))
    return list(drawn.values())


def _example(level: int, problem: Problem) -> Example:
    return Example(
        f"Q: {problem.asked}\nA:",
        f" {problem.solution}",
        group=problem.calculation,
        metadata={"level": level, "result": problem.result},
    )


def _corrupt(
    drawn: _Drawn, own_split: Sequence[Example], taken: set[str], chance: random.Random
) -> Example:
    """The same words with other numbers of the same length and another result.

    What is asked then is asked nowhere else in the task or, where the numbers are too few for
    that, stands in the same split, so that no split holds an answer of another one.
    """
    example = drawn.example
    fresh = (_example(0, drawn.sheet(chance)) for _ in range(300))
    new = (each for each in fresh if each.group not in taken)
    for other in (*new, *chance.sample(own_split, len(own_split))):
        same_shape = _shape(other.prompt) == _shape(example.prompt)
        if same_shape and other.metadata["result"] != example.metadata["result"]:
            return replace(example, corrupted=other.prompt, corrupted_target=other.target)
    return example


def _shape(text: str) -> str:
    return "".join("0" if letter.isdigit() else letter for letter in text)


def _one_digit(chance: random.Random) -> Sheet:
    sign = chance.choice("+-")

    def draw(chance: random.Random) -> Problem:
        one, two = chance.randint(1, 9), chance.randint(1, 9)
        if sign == "+":
            return _solved(f"{one} + {two}", one + two)
        one, two = max(one, two), min(one, two)
        return _solved(f"{one} - {two}", one - two)

    return draw


def _solved(calculation: str, result: int) -> Problem:
    asked = f"What is {calculation}?"
    solution = f"{calculation} = {result}. The answer is {result}."
    return Problem(asked, solution, result, _key(calculation))


def _two_digits(chance: random.Random) -> Sheet:
    sign = chance.choice("+-")

    def draw(chance: random.Random) -> Problem:
        one, two = sorted((chance.randint(11, 89), chance.randint(11, 89)), reverse=True)
        toward = 1 if sign == "+" else -1
        tens, ones = two // 10 * 10, two % 10
        first, result = one + toward * tens, one + toward * two
        steps = f"{one} {sign} {tens} = {first}."
        if ones:
            steps += f" {first} {sign} {ones} = {result}."
        calculation = f"{one} {sign} {two}"
        solution = f"{steps} The answer is {result}."
        return Problem(f"What is {calculation}?", solution, result, _key(calculation))

    return draw


def _table(chance: random.Random) -> Sheet:
    sign = chance.choice("*/")

    def draw(chance: random.Random) -> Problem:
        one, two = chance.randint(2, 12), chance.randint(2, 12)
        if sign == "*":
            return _solved(f"{one} * {two}", one * two)
        return _solved(f"{one * two} / {one}", two)

    return draw


def _story(stories: tuple[str, ...], chance: random.Random) -> Sheet:
    story, name, thing = chance.choice(stories), chance.choice(NAMES), chance.choice(THINGS)

    def draw(chance: random.Random) -> Problem:
        asked, steps, result, calculation = tell(story, name, thing, chance)
        solution = f"{steps} The answer is {result}."
        return Problem(asked, solution, result, _key(calculation))

    return draw


def _key(calculation: str) -> str:
    """The calculation, the same for 3 + 4 and 4 + 3, so that wording makes no new question."""
    for sign in (" + ", " * "):
        parts = calculation.split(sign)
        if len(parts) == 2 and all(part.isdigit() for part in parts):
            return sign.join(sorted(parts, key=int))
    return calculation


LEVELS: tuple[Maker, ...] = (
    _one_digit,
    _two_digits,
    _table,
    partial(_story, ONE_STEP),
    partial(_story, TWO_STEPS),
)
