"""The plural of English nouns, asked with a few solved examples."""

from __future__ import annotations

from headatlas.tasks.task import Example, Task

SHOTS = """
cat cats, table tables, baby babies, box boxes, leaf leaves, foot feet, dish dishes, river rivers,
story stories, child children, glass glasses, pencil pencils, knife knives, woman women, key keys,
potato potatoes
"""

TEST = """
dog dogs, book books, city cities, wolf wolves, church churches, mouse mice, apple apples,
lady ladies, bus buses, tooth teeth, bird birds, tomato tomatoes, wife wives, friend friends,
country countries, brush brushes, man men, window windows, party parties, shelf shelves, fox foxes,
letter letters, goose geese, day days, class classes, garden gardens, half halves, army armies,
person people, watch watches, hero heroes, song songs
"""


def singular_plural() -> Task:
    """Give the plural: "Q: wolf\\nA:" → " wolves"."""
    return Task(
        name="singular-plural",
        version=1,
        description="the plural of an English noun, after five solved examples",
        test=_questions(TEST),
        shots=_questions(SHOTS),
        n_shots=5,
    )


def _questions(pairs: str) -> tuple[Example, ...]:
    words = [pair.split() for pair in pairs.split(",")]
    return tuple(Example(f"Q: {singular}\nA:", f" {plural}") for singular, plural in words)
