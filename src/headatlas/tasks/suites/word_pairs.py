"""The six function-vector tasks: pairs of words, after ten demonstrations.

The tasks are those of Todd et al. 2024 (arXiv 2310.15213); the pairs are our own.
"""

from __future__ import annotations

import re
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

SEVERAL_OPPOSITES = frozenset(
    """accept above active ancient begin big cheap come conceal correct cruel dark dumb enter forbid
    friend give happiness happy huge loud mandatory noise odd over polite poverty rarely real sick
    tomorrow truth ugly victory wise""".split()
)
"""Words of the list with several good opposites (big: small, little): not asked in `antonym`. They
stay in the list because the tasks of tokens draw their words from it."""

VERSIONS = {"antonym": 2, "country-capital": 2, "singular-plural": 2}


def word_pairs(name: str) -> Task:
    """One of the six tasks: "Q: wolf\\nA:" → " wolves"."""
    description, instruction = ABOUT[name]
    pairs = read_list(name.replace("-", "_"))
    if name == "antonym":
        pairs = [pair for pair in pairs if pair[0] not in SEVERAL_OPPOSITES]
    groups = _families(pairs) if name == "antonym" else [one.casefold() for one, _ in pairs]
    examples = [
        Example(
            f"Q: {one}\nA:",
            f" {other}",
            group=group,
            metadata={"copies": copies_country(one, other)} if name == "country-capital" else {},
        )
        for (one, other), group in zip(pairs, groups, strict=True)
    ]
    return Task(
        name,
        version=VERSIONS.get(name, 1),
        description=description,
        splits=divide(examples),
        form=Form("icl", SHOTS),
        shots=SHOTS,
        instruction=instruction,
        shuffling_corrupts=True,
    )


def copies_country(country: str, capital: str) -> bool:
    """Whether a word of the capital begins like a word of the country, by its first four letters.

    >>> copies_country("Guatemala", "Guatemala City"), copies_country("Peru", "Lima")
    (True, False)
    """
    starts = {word[:4].lower() for word in re.findall(r"\w{4,}", country)}
    return any(word[:4].lower() in starts for word in re.findall(r"\w{4,}", capital))


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
