"""Is a gating map true? Held-out loss and ordered toggling."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from headatlas.checks.context import CheckContext
from headatlas.checks.gating.held_out import NAMES, SOFT_NAMES, held_out, held_out_passes
from headatlas.checks.gating.toggling import toggle, toggling_passes
from headatlas.checks.results.gating import GatingCheck
from headatlas.maps.reliability import reliability
from headatlas.methods.baseline import measure_baseline

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.tasks import Task

GAIN_QUESTIONS = 64
"""Test questions on which the gain over other questions' targets is measured."""

PER_SEED = 24
"""Test questions of every seed, at least, where as many were requested."""


def check_gating(context: CheckContext) -> GatingCheck:
    """Both checks of a gating map; every seed has test questions and prefixes of its own."""
    model, task, head_map = context.model, context.task, context.head_map
    report, keep, level = context.report, context.keep, context.level
    limit = questions_per_seed(context.about.requested, int(head_map.data.sizes["seed"]))
    gain = float(keep("gain over other questions' targets", partial(_gain, model, task)))
    map_reliability = reliability(head_map)
    names = NAMES if task.splits.get("select") else SOFT_NAMES
    settings: dict[str, Any] = {"limit": limit, "level": level, "gain": gain}
    return GatingCheck(
        about=context.about,
        held_out=held_out(model, task, head_map, names, **settings, report=report, keep=keep),
        toggling=toggle(model, task, head_map, **settings, report=report, keep=keep),
        warnings=tuple(map_reliability.check_warnings),
    )


def _gain(model: Model, task: Task) -> float:
    """How much more likely the untouched model finds targets than those of other questions."""
    return measure_baseline(model, task, limit=GAIN_QUESTIONS).gain


def questions_per_seed(requested: int, seeds: int) -> int:
    """The requested questions divided among seeds, but at most half and at least 24 in each.

    >>> [questions_per_seed(64, seeds) for seeds in (1, 2, 5)], questions_per_seed(4, 1)
    ([32, 32, 24], 2)
    """
    return max(2, min(requested // 2, max(PER_SEED, requested // seeds)))


def gating_passes(head_map: Map) -> int:
    """How often a check reports, at most."""
    return held_out_passes(head_map) + toggling_passes(head_map)
