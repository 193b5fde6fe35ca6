"""Classic tasks of circuit analysis: `ioi` (indirect objects) and `greater-than`.

Wang et al. 2023 (arXiv 2211.00593) and Hanna et al. 2023 (arXiv 2305.00586); the sentences are our
own.
"""

from __future__ import annotations

import random

from headatlas.tasks.example import Example
from headatlas.tasks.splits import divide
from headatlas.tasks.task import Task

QUESTIONS = 400

NAMES = """Adam Alice Amy Andrew Anna Ben Carl Clara Daniel David Edward Emily Emma Eric Eva Frank
George Grace Henry Helen Ivan Jack James Jane John Julia Karen Kate Kevin Laura Leo Lisa Lucy Maria
Mark Martin Mary Max Michael Nina Oliver Paul Peter Rachel Robert Rose Sam Sarah Simon Sofia Steven
Susan Thomas Tom Victor William""".split()

PLACES = "the park, the station, the library, the beach, the office, the market, the school, the " \
         "garden, the museum, the harbor".split(", ")  # fmt: skip

THINGS = "a ticket, a book, a letter, a flower, a key, a cup of tea, a basket, a photo, a coin, " \
         "a map".split(", ")  # fmt: skip

SCENES = (
    "When {a} and {b} were at {place}, {giver} gave {thing} to",
    "After {a} and {b} had met at {place}, {giver} handed {thing} to",
    "{a} and {b} walked to {place} together. There {giver} showed {thing} to",
    "While {a} and {b} waited near {place}, {giver} passed {thing} to",
    "Then {a} and {b} came to {place}, and {giver} offered {thing} to",
    "One day {a} and {b} stayed at {place}. Before leaving, {giver} sold {thing} to",
)


def ioi() -> Task:
    """One of two people gives something: who receives it? The corrupted prompt swaps the roles."""
    rng = random.Random("ioi 1")
    pairs = [(one, two) for i, one in enumerate(NAMES) for two in NAMES[:i]]
    examples = [_gift(*pair, rng) for pair in rng.sample(pairs, QUESTIONS)]
    return Task(
        "ioi",
        version=1,
        description="indirect object identification: which of two people receives something",
        splits=divide(examples),
        shots=2,
        instruction="Finish the sentence with the right name.",
    )


def _gift(one: str, two: str, rng: random.Random) -> Example:
    giver, receiver = rng.sample((one, two), 2)
    a, b = rng.sample((one, two), 2)
    scene, place, thing = rng.choice(SCENES), rng.choice(PLACES), rng.choice(THINGS)
    facts = {"a": a, "b": b, "place": place, "thing": thing}
    return Example(
        scene.format(giver=giver, **facts),
        f" {receiver}",
        (f" {a}", f" {b}"),
        corrupted=scene.format(giver=receiver, **facts),
        corrupted_target=f" {giver}",
        group=f"{one} {two}",
    )


EVENTS = """war, siege, voyage, drought, strike, construction, expedition, dispute, reign, plague,
rebellion, festival, alliance, campaign, blockade, negotiation, occupation, famine, trial, truce,
crisis, boom, migration, survey, exile""".replace("\n", " ").split(", ")


def greater_than() -> Task:
    """A span of years within a century: the second year is the later one.

    The choices are a later and an earlier year. In the corrupted prompt the first year ends in 01,
    so both choices are later and nothing favors the target.
    """
    rng = random.Random("greater-than 1")
    years = [(century, year) for century in range(11, 20) for year in range(10, 90)]
    examples = [_span(century, year, rng) for century, year in rng.sample(years, QUESTIONS)]
    return Task(
        "greater-than",
        version=1,
        description="the last two digits of a year later than the one given",
        splits=divide(examples),
        shots=2,
        instruction="Finish the sentence with a year.",
    )


def _span(century: int, year: int, rng: random.Random) -> Example:
    event = rng.choice(EVENTS)
    later, earlier = rng.randrange(year + 1, 100), rng.randrange(2, year)
    choices = [f"{later:02d}", f"{earlier:02d}"]
    rng.shuffle(choices)
    text = "The {} lasted from the year {}{:02d} to the year {}"
    return Example(
        text.format(event, century, year, century),
        f"{later:02d}",
        tuple(choices),
        corrupted=text.format(event, century, 1, century),
        group=f"{century}{year:02d}",
    )
