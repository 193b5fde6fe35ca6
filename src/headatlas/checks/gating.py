"""Is a gating map true? Held-out loss and ordered toggling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.checks.context import CheckContext
from headatlas.checks.held_out import NAMES, held_out
from headatlas.checks.results.gating import GatingCheck
from headatlas.checks.toggling import toggle, toggling_passes

if TYPE_CHECKING:
    from headatlas.maps import Map


def check_gating(context: CheckContext) -> GatingCheck:
    """Both checks of a gating map, on test questions; toggling uses half as many per seed."""
    model, task, head_map = context.model, context.task, context.head_map
    report, keep = context.report, context.keep
    many = context.about.requested
    few = max(2, many // 2)
    return GatingCheck(
        about=context.about,
        held_out=held_out(model, task, head_map, limit=many, report=report, keep=keep),
        toggling=toggle(model, task, head_map, limit=few, report=report, keep=keep),
    )


def gating_passes(head_map: Map) -> int:
    """How often a check reports, at most."""
    return len(NAMES) * int(head_map.data.sizes["seed"]) + toggling_passes(head_map)
