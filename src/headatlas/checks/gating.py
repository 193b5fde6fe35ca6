"""Is a gating map true? Held-out loss and ordered toggling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.checks.held_out import NAMES, held_out
from headatlas.checks.measure import Keep, Report
from headatlas.checks.results.about import About
from headatlas.checks.results.gating import GatingCheck
from headatlas.checks.toggling import toggle, toggling_passes

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.methods.method import Inputs
    from headatlas.models.model import Model
    from headatlas.tasks import Task


def check_gating(
    model: Model,
    task: Task,
    head_map: Map,
    about: About,
    *,
    inputs: Inputs,
    keep: Keep,
    report: Report,
) -> GatingCheck:
    """Both checks of a gating map, on test questions; toggling uses half as many per seed."""
    few = max(2, about.requested // 2)
    return GatingCheck(
        about=about,
        held_out=held_out(model, task, head_map, limit=about.requested, report=report, keep=keep),
        toggling=toggle(model, task, head_map, limit=few, report=report, keep=keep),
    )


def gating_passes(head_map: Map) -> int:
    """How often a check reports, at most."""
    return len(NAMES) * int(head_map.data.sizes["seed"]) + toggling_passes(head_map)
