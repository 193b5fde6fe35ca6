"""Does a function get better when its heads are pushed along its direction?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headatlas.checks.measure import Answers
from headatlas.checks.results.functions import PooledStrength, StrengtheningRow
from headatlas.stats.intervals import mean_change

STRENGTHS = (-1.0, 0.5, 1.0, 2.0)
"""Multiples of the direction that are added; the negative one should do the opposite."""

MAIN_STRENGTH = 1.0


@dataclass(frozen=True)
class Pushed:
    """Answers to a function's steps before and after its heads were pushed along its direction."""

    function: str
    strength: float
    heads: int
    before: Answers
    after: Answers
    questions: tuple[str, ...]

    def row(self) -> StrengtheningRow:
        """What the push does to the function's steps."""
        exact = self.after.exact - self.before.exact
        return StrengtheningRow(
            function=self.function,
            heads=self.heads,
            strength=self.strength,
            change=mean_change(self.after.logprob - self.before.logprob, self.questions),
            accuracy=float(self.before.exact.mean()),
            accuracy_change=mean_change(exact, self.questions, bounded=True),
        )


def pooled_strengthening(pushed: Sequence[Pushed], strength: float) -> PooledStrength:
    """Over all steps: what pushing their own function's heads with one strength does."""
    pushes = [push for push in pushed if push.strength == strength]
    changes = [push.after.logprob - push.before.logprob for push in pushes]
    questions = [question for push in pushes for question in push.questions]
    return PooledStrength(strength, mean_change(np.concatenate(changes), questions))
