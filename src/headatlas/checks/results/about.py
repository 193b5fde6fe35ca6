"""What a check was made of."""

from __future__ import annotations

from dataclasses import dataclass


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
