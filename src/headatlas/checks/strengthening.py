"""Does a function get better when its heads are pushed along its direction?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from headatlas.checks.measure import Answers
from headatlas.stats.clustered import Change, mean_change

STRENGTHS = (-1.0, 0.5, 1.0, 2.0)
"""Multiples of the direction that are added; the negative one should do the opposite."""

MAIN_STRENGTH = 1.0

Pushed = tuple[str, float, int, Answers, Answers, Sequence[str]]
"""Function, strength, number of heads, answers before and after, and their questions."""


def strengthening_row(
    function: str,
    strength: float,
    heads: int,
    before: Answers,
    after: Answers,
    questions: Sequence[str],
) -> dict[str, Any]:
    """What shifting a function's heads along its direction does to its steps, as plain data."""
    return {
        "function": function,
        "heads": heads,
        "strength": strength,
        "change": asdict(mean_change(after.logprob - before.logprob, questions)),
        "accuracy": float(before.exact.mean()),
        "accuracy_change": asdict(mean_change(after.exact - before.exact, questions, bounded=True)),
    }


def pooled_strengthening(found: Sequence[Pushed]) -> Change:
    """Over all steps: what pushing their own function's heads does."""
    changes = [after.logprob - before.logprob for _, _, _, before, after, _ in found]
    questions = [question for each in found for question in each[-1]]
    return mean_change(np.concatenate(changes), questions)
