"""Does a function get better when its heads are pushed along its direction?"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headatlas.checks.compared import Compared, pooled_change, pooled_difference
from headatlas.checks.functions.steps import Answering, Steps
from headatlas.checks.measure import Answers
from headatlas.checks.results.functions import (
    Claim,
    StrengtheningRow,
    TriedStrength,
)
from headatlas.checks.results.verdict import all_of
from headatlas.maps.order import Head
from headatlas.models.edit import Edit
from headatlas.stats.clustered import LEVEL

STRENGTHS = (0.25, 0.5, 1.0, 2.0)
"""Multiples of the direction that are tried on `select` questions."""

PUSH_DRAWS = 3
"""Number of random directions, and of other functions' directions, to compare with."""

Direction = Callable[[str, Sequence[Head]], Tensor]
"""Where a function pushes some heads: layer × head × d_head, 0 at other heads."""


@dataclass(frozen=True)
class Pushed:
    """A function's steps with its heads pushed along its direction, compared with random directions
    and with other functions' directions."""

    function: str
    heads: int
    random: Compared
    others: Compared

    def row(self, level: float = LEVEL) -> StrengtheningRow:
        """All numbers of the function."""
        return StrengtheningRow(
            function=self.function,
            heads=self.heads,
            examples=len(self.random.clusters),
            change=self.random.change("logprob", level),
            over_random=self.random.difference("logprob", level),
            over_others=self.others.difference("logprob", level) if self.others.controls else None,
            accuracy=float(self.random.before.exact.mean()),
            accuracy_change=self.random.change("exact", level),
        )


def choose_strength(
    heads: Mapping[str, Sequence[Head]],
    direction: Direction,
    steps: Steps,
    before: Answers,
    answer: Answering,
    level: float = LEVEL,
) -> tuple[float, tuple[TriedStrength, ...]]:
    """The strength with the largest mean gain over the `select` steps, and what all of them do."""
    tried = []
    for strength in STRENGTHS:
        compared = []
        for name, some in heads.items():
            own = steps.only(name)
            shift = Edit(shift=strength * direction(name, some))
            after = answer(f"{name}, {len(some)} heads, select, strength {strength:g}", own, shift)
            compared.append(Compared(own.clusters, before.at(steps.at(name)), after))
        tried.append(TriedStrength(strength, pooled_change(compared, "logprob", level)))
    best = max(tried, key=lambda trial: trial.change.mean)
    return best.strength, tuple(tried)


def push(
    steps: Steps,
    function: str,
    functions: Sequence[str],
    heads: Sequence[Head],
    strength: float,
    direction: Direction,
    before: Answers,
    answer: Answering,
) -> Pushed:
    """Push a function's heads on its own steps: along its direction, then as far along others."""
    rng = random.Random(f"directions {function} {len(heads)}")
    own = direction(function, heads)
    label = f"{function}, {len(heads)} heads, strength {strength:g}"
    after = answer(label, steps, Edit(shift=strength * own))
    rest = [name for name in functions if name != function]
    random_directions = {
        f"random direction {number}": _random_direction(own, rng.randrange(2**31))
        for number in range(1, PUSH_DRAWS + 1)
    }
    other_directions = {
        f"direction of {name}": direction(name, heads)
        for name in rng.sample(rest, min(PUSH_DRAWS, len(rest)))
        if len(rest) > 1  # one direction says nothing about how far directions differ
    }

    def compared(directions: Mapping[str, Tensor]) -> Compared:
        controls = tuple(
            answer(f"{label}, {name}", steps, Edit(shift=strength * scaled_like(other, own)))
            for name, other in directions.items()
        )
        return Compared(steps.clusters, before, after, controls)

    return Pushed(function, len(heads), compared(random_directions), compared(other_directions))


def push_all(
    heads: Mapping[str, Sequence[Head]],
    direction: Direction,
    strength: float,
    steps: Steps,
    before: Answers,
    answer: Answering,
) -> list[Pushed]:
    """Push every function's heads on its own steps."""
    return [
        push(
            steps.only(name),
            name,
            tuple(heads),
            some,
            strength,
            direction,
            before.at(steps.at(name)),
            answer,
        )
        for name, some in heads.items()
    ]


def strengthening_claim(pushed: Sequence[Pushed], level: float = LEVEL) -> Claim:
    """The claim holds if the push raises log P, and more than both controls do; it fails if one of
    the three is surely the other way round."""
    change = pooled_change([result.random for result in pushed], "logprob", level)
    also = {
        "minus random directions": pooled_difference(
            [result.random for result in pushed], "logprob", level
        )
    }
    if all(result.others.controls for result in pushed):
        also["minus other functions' directions"] = pooled_difference(
            [result.others for result in pushed], "logprob", level
        )
    return Claim(
        change, all_of(change.above, *(difference.above for difference in also.values())), also
    )


def scaled_like(direction: Tensor, other: Tensor) -> Tensor:
    """A direction with the size that the other one has at every head (layer × head × d_head)."""
    size = direction.norm(dim=-1, keepdim=True).clamp(min=1e-12)
    scaled: Tensor = direction / size * other.norm(dim=-1, keepdim=True)
    return scaled


def _random_direction(like: Tensor, seed: int) -> Tensor:
    return torch.randn(like.shape, generator=torch.Generator().manual_seed(seed))
