"""What a check of a map is about."""

from __future__ import annotations

from dataclasses import dataclass

from headatlas.maps.result import Result


@dataclass(frozen=True)
class About:
    """The map that was checked (by name and hash of its numbers), its model and task, the number
    of test questions that was requested, and the version of the check."""

    map: str
    map_hash: str
    model: str
    task: str
    requested: int
    version: int = 1


@dataclass(frozen=True)
class MapCheck(Result):
    """The result of a check of one map."""

    about: About

    @property
    def file_name(self) -> str:
        return self.about.map
