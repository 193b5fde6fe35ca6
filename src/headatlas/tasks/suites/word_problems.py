"""Templates of word problems, with the calculations that solve them.

A template is a text with placeholders, a bar, and its steps. `{a}`, `{b}` and `{c}` are numbers,
`{name}` and `{thing}` are words. The steps are calculations separated by semicolons, in which `x`
is the result of the first.
"""

from __future__ import annotations

import random

NAMES = """Ada Amir Bella Carlos Chen Dina Elif Farid Greta Hana Ines Jonas Kofi Lena Malik Nadia
Omar Priya Rosa Sven Tara Uma Viktor Wanda Yuki Zora""".split()

THINGS = """apples books candles coins cookies cups flowers keys lemons marbles nuts oranges pencils
plates ribbons shells stamps stickers stones tickets""".split()

ONE_STEP = (
    "{name} has {a} {thing} and finds {b} more. How many {thing} does {name} have now?|a + b",
    "There are {a} {thing} on the table and {b} on the shelf. How many {thing} are there?|a + b",
    "{name} had {a} {thing} and gave {b} away. How many {thing} are left?|a - b",
    "A box holds {a} {thing}. {name} takes out {b} of them. How many {thing} stay in it?|a - b",
    "{name} buys {a} bags with {c} {thing} each. How many {thing} does {name} get?|a * c",
    "Every one of the {a} children gets {c} {thing}. How many {thing} are needed?|a * c",
    "{name} needs {a} {thing} and has {b}. How many {thing} are missing?|a - b",
    "In the morning {name} sold {a} {thing}, in the evening {b}. How many {thing} were sold?|a + b",
    "One of the {thing} costs {c} dollars. What do {a} {thing} cost in dollars?|a * c",
    "{name} is {a} years old, {b} years older than a cousin. How old is the cousin?|a - b",
)

TWO_STEPS = (
    "{name} has {a} {thing}, finds {b} more and then loses {c}. How many {thing} are left?"
    "|a + b; x - c",
    "{name} buys {a} bags with {c} {thing} each and gives one bag away. How many {thing} are left?"
    "|a * c; x - c",
    "A shop has {a} {thing}. It sells {b} and then gets {c} new ones. How many {thing} are there?"
    "|a - b; x + c",
    "{name} packs {a} boxes with {c} {thing} each and keeps {b} more. How many {thing} are there?"
    "|a * c; x + b",
    "{a} children and {b} adults get {c} {thing} each. How many {thing} are needed?|a + b; x * c",
    "{name} has {a} {thing} and gives {b} away. A friend has {c} times as many as are left. How "
    "many {thing} does the friend have?|a - b; x * c",
    "A bus carries {a} people. {b} get off and {c} get on. How many people are on the bus?"
    "|a - b; x + c",
    "{name} saves {c} dollars a week for {a} weeks and spends {b} dollars. How many dollars are "
    "left?|a * c; x - b",
)


def tell(story: str, name: str, thing: str, rng: random.Random) -> tuple[str, str, int, str]:
    """A story with its numbers drawn: question, worked steps, result, calculation."""
    text, _, steps = story.partition("|")
    a, c = rng.randint(6, 40), rng.randint(2, 9)
    b = rng.randint(2, a - 1)
    numbers = {"a": a, "b": b, "c": c}
    question = text.format(name=name, thing=thing, **numbers)
    written, key = [], ""
    result = 0
    for step in steps.split("; "):
        one, sign, two = step.split()
        left = result if one == "x" else numbers[one]
        right = numbers[two]
        result = {"+": left + right, "-": left - right, "*": left * right}[sign]
        written.append(f"{left} {sign} {right} = {result}.")
        key = f"({key}) {sign} {right}" if key else f"{left} {sign} {right}"
    return question, " ".join(written), result, key
