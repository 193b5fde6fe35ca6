"""What a model can do: one definition for the warnings on maps, for contrast and for pages.

Knowing which heads a task needs takes a task that the model does: it must be right clearly more
often than guessing, so that there is something to lose when heads are removed.
"""

from __future__ import annotations

from enum import StrEnum

ACCURACY_ROOM = 0.1
"""How far above chance the lower 95 % bound of an accuracy must lie: a share of examples."""

GAIN_ROOM = 0.25
"""How far above 0 the lower 95 % bound of the gain over shuffled targets must lie: nats per token.
A target is then at least 1.28 times as likely, per token, as the target of another question."""


class Ability(StrEnum):
    """What the lower 95 % bound of a measure shows of a model on a task."""

    CAN_DO = "can do"
    TOO_RARELY = "above chance, but too rarely right for a map"
    NOT_ABOVE = "not shown to be above chance"


def ability_by_accuracy(low: float, chance: float) -> Ability:
    """What an accuracy says, from its lower 95 % bound and from what guessing reaches.

    >>> ability_by_accuracy(0.01, 0.004).value
    'above chance, but too rarely right for a map'
    """
    return _ability(low, chance, ACCURACY_ROOM)


def ability_by_gain(low: float) -> Ability:
    """What the gain over shuffled targets (nats per token) says, from its lower 95 % bound.

    >>> ability_by_gain(0.63).value
    'can do'
    """
    return _ability(low, 0.0, GAIN_ROOM)


def _ability(low: float, chance: float, room: float) -> Ability:
    if low >= chance + room:
        return Ability.CAN_DO
    return Ability.TOO_RARELY if low > chance else Ability.NOT_ABOVE
