"""What a check is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headatlas.checks.measure import Keep, Report, compute_always, no_report

if TYPE_CHECKING:
    from headatlas.checks.results.about import About
    from headatlas.maps import Map
    from headatlas.methods.method import Inputs
    from headatlas.models.model import Model
    from headatlas.tasks import Task


@dataclass(frozen=True)
class CheckContext:
    """The map to check with its model and task; `inputs` are the maps that it was computed from.

    `keep` stores every pass by its name, so that a stopped check continues; `report` counts them.
    `options` say how the check is done, where that can be chosen.
    """

    model: Model
    task: Task
    head_map: Map
    about: About
    inputs: Inputs
    keep: Keep = compute_always
    report: Report = no_report
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def level(self) -> float:
        """The level of all intervals: higher the more often this map was looked at."""
        return self.about.level
