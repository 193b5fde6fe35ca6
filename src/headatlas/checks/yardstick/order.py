"""The order in which a map puts all heads of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.errors import NotJudgedError
from headatlas.maps.compare import importance
from headatlas.maps.importance import ranks_heads
from headatlas.maps.order import Head, heads_by
from headatlas.methods import METHODS
from headatlas.tasks import Task
from headatlas.tasks.splits import FEWEST

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.spec import ModelSpec


def can_be_judged(head_map: Map) -> bool:
    """Whether a map ranks the heads of one task, by one number each."""
    method = METHODS.get(str(head_map.provenance.get("method")))
    of_one_task = method is None or method.subject is Task
    return of_one_task and ranks_heads(head_map) and "function" not in head_map.data.dims


def has_all_heads(head_map: Map) -> bool:
    """Whether a map has a number for every head that exists."""
    heads = int((head_map["kv_group"] >= 0).sum())
    return len(heads_by(importance(head_map))) == heads


def judged_order(head_map: Map, spec: ModelSpec, task: Task) -> list[Head]:
    """All heads, the most important first; raises if the map cannot be judged on test questions of
    the task."""
    if head_map.provenance.get("split") == "test":
        advice = (
            "make it again with --split train (split='train')"
            if task.splits.get("train")
            else f"'{task.name}' has no others, so add questions (from {FEWEST} on they are "
            "divided) or a column 'split' that says which are for training, and make the map again"
        )
        raise NotJudgedError(
            f"{head_map.name} was measured on test questions, so that these cannot judge it: "
            f"{advice}."
        )
    order = heads_by(importance(head_map))
    if len(order) < len(spec.heads()):
        raise NotJudgedError(
            f"{head_map.name} has {len(order)} of {len(spec.heads())} heads: a curve needs all. "
            "Make the map without --heads (heads=None)."
        )
    return order
