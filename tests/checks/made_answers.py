"""Steps and answers whose numbers are known."""

from __future__ import annotations

import numpy as np

from headatlas.checks.compared import Compared
from headatlas.checks.functions.steps import Steps
from headatlas.checks.measure import Answers
from headatlas.checks.results import About
from headatlas.models.tokens import Tokens
from headatlas.tasks.functions import FUNCTIONS

NAMES = ("Retrieval", "Inference")


ABOUT = About("map", "hash", "tiny", "steps", 6)


def some_steps(count=20, names=NAMES):
    """One step of each function per question."""
    rows = tuple(Tokens((1, 2, 3), 2) for _ in range(len(names) * count))
    questions = tuple(f"q{i // len(names)}" for i in range(len(names) * count))
    return Steps(rows, tuple(names) * count, questions)


def moved_by(before, amount, noise):
    jitter = noise.normal(0, 0.01, len(before.logprob))
    return Answers(before.logprob + amount + jitter, before.exact)


def compared_of(own, controls, steps=20, seed=0):
    """An edit that changes all steps by `own`, and a control draw for each number of `controls`."""
    noise = np.random.default_rng(seed)
    before = Answers(noise.normal(-1, 0.3, steps), np.ones(steps))
    draws = tuple(moved_by(before, amount, noise) for amount in controls)
    names = tuple(f"q{i}" for i in range(steps))
    return Compared(names, before, moved_by(before, own, noise), draws)


DRAWN = (-0.1, -0.05, -0.15, -0.12, -0.08, -0.1, -0.11, -0.09)


def answers_of(steps, effects, seed=0):
    """Untouched answers, and those with each function's heads masked, by effects[masked][own]."""
    noise = np.random.default_rng(seed)
    before = Answers(noise.normal(-1, 0.3, len(steps.rows)), np.ones(len(steps.rows)))
    masked = {}
    for name, by_function in effects.items():
        amount = np.array([by_function[function] for function in steps.functions])
        masked[name] = moved_by(before, amount, noise)
    return before, masked


def effects_of(own, others, seed=0):
    """Masking changes a function's own steps by `own` and others by `others`, and some noise."""
    noise = np.random.default_rng(seed)
    return {
        one: {two: (own if one == two else others) + noise.normal(0, 0.05) for two in FUNCTIONS}
        for one in FUNCTIONS
    }


def changes_of(before, masked):
    return {name: answers.logprob - before.logprob for name, answers in masked.items()}
