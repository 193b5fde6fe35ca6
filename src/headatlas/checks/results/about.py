"""What a check of a map is about."""

from __future__ import annotations

from dataclasses import dataclass

from headatlas.maps.result import Result

ERROR = 0.05
"""The error of the intervals of a first look."""

STRICTER = 5
"""Every further look may err this number of times less often than the one before."""


@dataclass(frozen=True)
class About:
    """The map that was checked (by name and hash of its numbers), its model and task, the number
    of test questions that was requested, and the version of the check.

    `look` counts the finished checks of this kind that a map of this name has had: with another
    number of questions, after the map has grown (more seeds of nearly the same data), or by the
    rules of another version of the check. Who looks again because the first look was not clear has
    a second chance to err, so intervals become wider:

    >>> [round(About("map", "hash", "model", "task", 64, look=look).level, 3) for look in (1, 2, 3)]
    [0.95, 0.99, 0.998]

    All looks together err in at most 0.05 · (1 + 1/5 + 1/25 + …) = 6.25 % of cases.
    """

    map: str
    map_hash: str
    model: str
    task: str
    requested: int
    version: int = 1
    look: int = 1

    @property
    def level(self) -> float:
        """The level of all intervals of the check."""
        return float(1 - ERROR / STRICTER ** (self.look - 1))

    @property
    def percent(self) -> str:
        """The level as it is printed."""
        return percent(self.level)


def percent(level: float) -> str:
    """A level as it is printed.

    >>> percent(0.95), percent(0.998)
    ('95 %', '99.8 %')
    """
    return f"{round(100 * level, 6):g} %"


@dataclass(frozen=True)
class MapCheck(Result):
    """The result of a check of one map."""

    about: About

    @property
    def file_name(self) -> str:
        return self.about.map
