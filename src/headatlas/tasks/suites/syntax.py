"""`syntax`: agreement with distractors, and sentences rewritten, as in BIG-bench's syntax tasks.

Linguistic mappings, tense and subject–verb agreement (Srivastava et al. 2023, arXiv 2206.04615);
words and sentences are our own.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from headatlas.tasks.example import Example
from headatlas.tasks.forms import Form
from headatlas.tasks.splits import divide
from headatlas.tasks.task import Task

PER_KIND = 120

PEOPLE = """teacher doctor farmer painter pilot singer lawyer nurse gardener driver writer baker
soldier sailor guard tailor actor dancer judge clerk hunter miner plumber student""".split()

NAMES = {
    "Anna": "She", "Maria": "She", "Clara": "She", "Julia": "She", "Helen": "She", "Susan": "She",
    "Peter": "He", "Thomas": "He", "Robert": "He", "David": "He", "Martin": "He", "Henry": "He",
}  # fmt: skip

VERBS = """
open opens opened door, paint paints painted wall, clean cleans cleaned window, wash washes washed
shirt, carry carries carried basket, repair repairs repaired roof, move moves moved table, visit
visits visited village, watch watches watched game, cook cooks cooked soup, answer answers
answered letter, count counts counted coin, break breaks broke glass, write writes wrote poem,
drive drives drove truck, take takes took train, buy buys bought house, sell sells sold horse,
find finds found ring, hide hides hid map, steal steals stole bicycle, draw draws drew picture,
sing sings sang song, eat eats ate cake, lose loses lost key, build builds built bridge, teach
teaches taught lesson, follow follows followed path, remember remembers remembered name, plant
plants planted tree
"""

ACTIONS = """laugh laughs, sleep sleeps, wait waits, smile smiles, work works, dance dances, swim
swims, travel travels, complain complains, agree agrees, listen listens, whisper whispers"""

BETWEEN = ("near the {}", "behind the {}", "beside the {}", "who likes the {}", "that the {} know")
"""What stands between subject and verb; the last two are relative clauses."""


@dataclass(frozen=True)
class Verb:
    """The forms of a verb, and a noun that can be its object."""

    base: str
    third: str
    past: str
    thing: str


VERB_LIST = [Verb(*words.split()) for words in VERBS.split(",")]
ACTION_LIST = [tuple(words.split()) for words in ACTIONS.split(",")]


def syntax() -> Task:
    """Six kinds: agreement, past, plural, pronoun, question, negation.

    The corrupted prompt has another subject number (agreement) or another verb.
    """
    rng = random.Random("syntax 1")
    examples = [example for kind in KINDS for example in _draw(kind, rng)]
    taken = {example.group for example in examples}
    examples = [_corrupt(example, taken, rng) for example in examples]
    return Task(
        "syntax",
        version=1,
        description="agreement with distractors and rewritten sentences",
        splits=divide(examples),
        form=Form("icl", 1),
        shots=1,
        instruction="Do what is asked with the grammar of the sentence.",
        measure="logprob",
    )


def _draw(kind: str, rng: random.Random) -> list[Example]:
    """Different questions of one kind."""
    by_prompt: dict[str, Example] = {}
    while len(by_prompt) < PER_KIND:
        example = KINDS[kind](rng)
        by_prompt.setdefault(example.prompt, example)
    return [
        replace(example, metadata={**example.metadata, "kind": kind})
        for example in by_prompt.values()
    ]


def _corrupt(example: Example, taken: set[str], rng: random.Random) -> Example:
    """A rewritten sentence gets another verb, one that its subject has in no other question."""
    kind = str(example.metadata["kind"])
    if kind not in REWRITES:
        return example
    request, rewrite, _ = REWRITES[kind]
    subject = str(example.metadata["subject"])
    for verb in rng.sample(VERB_LIST, len(VERB_LIST)):
        if f"{subject} {verb.base}" not in taken:
            sentence, rewritten = rewrite(subject, verb)
            corrupted = f"Q: {request}: {sentence}\nA:"
            return replace(example, corrupted=corrupted, corrupted_target=f" {rewritten}")
    return example


def _agreement(rng: random.Random) -> Example:
    """The guards near the nurse: " laugh", not " laughs"."""
    subject, other = rng.sample(PEOPLE, 2)
    plural_form, singular_form = rng.choice(ACTION_LIST)
    between = rng.choice(BETWEEN)
    plural = rng.random() < 0.5
    distractor = other if plural and not between.startswith("that") else f"{other}s"
    choices = (f" {plural_form}.", f" {singular_form}.")

    def prompt(plural: bool) -> str:
        clause = between.replace("likes", "like") if plural else between
        words = f"The {subject}{'s' if plural else ''} {clause.format(distractor)}"
        return f"Q: Complete with the right form of {plural_form}: {words} …\nA: {words}"

    return Example(
        prompt(plural),
        choices[not plural],
        choices,
        corrupted=prompt(not plural),
        corrupted_target=choices[plural],
        group=f"{subject} {plural_form}",
    )


def _past(subject: str, verb: Verb) -> tuple[str, str]:
    return (
        f"The {subject} {verb.third} the {verb.thing}.",
        f"The {subject} {verb.past} the {verb.thing}.",
    )


def _plural(subject: str, verb: Verb) -> tuple[str, str]:
    return (
        f"The {subject} {verb.third} the {verb.thing}.",
        f"The {subject}s {verb.base} the {verb.thing}.",
    )


def _pronoun(subject: str, verb: Verb) -> tuple[str, str]:
    predicate = f"{verb.past} the {verb.thing}."
    return f"{subject} {predicate}", f"{NAMES[subject]} {predicate}"


def _question(subject: str, verb: Verb) -> tuple[str, str]:
    statement = f"The {subject} {verb.past} the {verb.thing}."
    return statement, f"Did the {subject} {verb.base} the {verb.thing}?"


def _negation(subject: str, verb: Verb) -> tuple[str, str]:
    statement = f"The {subject} {verb.past} the {verb.thing}."
    return statement, f"The {subject} did not {verb.base} the {verb.thing}."


REWRITES: dict[str, tuple[str, Callable[[str, Verb], tuple[str, str]], list[str]]] = {
    "past": ("Write in the past tense", _past, PEOPLE),
    "plural": ("Write with a plural subject", _plural, PEOPLE),
    "pronoun": ("Replace the name with a pronoun", _pronoun, list(NAMES)),
    "question": ("Turn into a question", _question, PEOPLE),
    "negation": ("Write as a negation", _negation, PEOPLE),
}
"""By kind: the request, both sentences for a subject and a verb, and the subjects."""


def _rewrite(kind: str, rng: random.Random) -> Example:
    """A question of a kind that turns one sentence into another."""
    request, rewrite, subjects = REWRITES[kind]
    subject, verb = rng.choice(subjects), rng.choice(VERB_LIST)
    sentence, rewritten = rewrite(subject, verb)
    return Example(
        f"Q: {request}: {sentence}\nA:",
        f" {rewritten}",
        group=f"{subject} {verb.base}",
        metadata={"subject": subject},
    )


KINDS: dict[str, Callable[[random.Random], Example]] = {
    "agreement": _agreement,
    **{kind: partial(_rewrite, kind) for kind in REWRITES},
}
