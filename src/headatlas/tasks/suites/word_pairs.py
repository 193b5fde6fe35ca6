"""The six function-vector tasks: pairs of words, after ten demonstrations.

The tasks are those of Todd et al. 2024 (arXiv 2310.15213); the pairs are our own.
"""

from __future__ import annotations

from functools import partial

from headatlas.tasks.example import Example
from headatlas.tasks.forms import Form
from headatlas.tasks.splits import divide
from headatlas.tasks.suites.listed import read_list
from headatlas.tasks.task import Task

SHOTS = 10

ABOUT = {
    "antonym": ("the opposite of a word", "Give the opposite of the word."),
    "capitalize": ("a word with a capital letter", "Write the word with a capital first letter."),
    "country-capital": ("the capital of a country", "Name the capital city of the country."),
    "english-french": ("the French for an English word", "Translate the English word to French."),
    "present-past": ("the simple past of a verb", "Give the past tense of the verb."),
    "singular-plural": ("the plural of a noun", "Give the plural of the noun."),
}


def word_pairs(name: str) -> Task:
    """One of the six tasks: "Q: wolf\\nA:" → " wolves"."""
    description, instruction = ABOUT[name]
    pairs = read_list(name.replace("-", "_"))
    groups = _families(pairs) if name == "antonym" else [one.casefold() for one, _ in pairs]
    examples = [
        Example(f"Q: {one}\nA:", f" {other}", group=group)
        for (one, other), group in zip(pairs, groups, strict=True)
    ]
    return Task(
        name,
        version=2 if name == "singular-plural" else 1,
        description=description,
        splits=divide(examples),
        form=Form("icl", SHOTS),
        shots=SHOTS,
        instruction=instruction,
        shuffling_corrupts=True,
    )


def _families(pairs: list[list[str]]) -> list[str]:
    """A key per pair, the same for pairs with related words (weak and weakness).

    Words count as related when their first four letters are the same.
    """
    family: dict[str, str] = {}
    for pair in pairs:
        stems = [word[:4] for word in pair]
        known = {family[stem] for stem in stems if stem in family}
        name = min({*known, stems[0]})
        family.update(dict.fromkeys(stems, name))
        family.update({stem: name for stem, old in family.items() if old in known})
    return [family[pair[0][:4]] for pair in pairs]


WORD_PAIRS = {name: partial(word_pairs, name) for name in ABOUT}
