"""Specificity of stored maps: which of them can be set against each other, and the result kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headatlas.checks.kinds import CHECKS
from headatlas.checks.yardstick.order import can_be_judged, has_all_heads
from headatlas.checks.yardstick.task_specificity import check_specificity
from headatlas.errors import HeadAtlasError
from headatlas.maps.labels import evidence, method_label
from headatlas.runs.pieces import Pieces
from headatlas.runs.progress import Callback, tracked

if TYPE_CHECKING:
    from headatlas.checks.results import TaskSpecificity
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.runs.store import Store
    from headatlas.tasks import Task

VERSION = 1


def sets_of_tasks(maps: Sequence[Map]) -> list[list[Map]]:
    """Maps of one model by one method, one map of all heads per task; of at least two tasks."""
    groups: dict[tuple[str, str], dict[str, Map]] = {}
    for head_map in maps:
        facts = head_map.provenance
        usable = can_be_judged(head_map) and has_all_heads(head_map)
        if usable and facts.get("split") != "test":
            key = (str(facts["model_hash"]), method_label(head_map))
            own = groups.setdefault(key, {})
            before = own.get(str(facts["task"]))
            if before is None or evidence(head_map) > evidence(before):
                own[str(facts["task"])] = head_map
    return [list(own.values()) for own in groups.values() if len(own) > 1]


def stored_specificity(
    model: Model,
    maps: Sequence[Map],
    tasks: Sequence[Task],
    *,
    share: float,
    questions: int | None,
    options: Mapping[str, str | None],
    store: Store,
    progress: Callback | None,
) -> TaskSpecificity:
    """The specificity of maps; what was measured before is not measured again."""
    names = [str(head_map.provenance["task"]) for head_map in maps]
    if len(maps) < 2 or len(set(names)) < len(names):
        raise HeadAtlasError(
            f"specificity needs maps of two or more tasks, one each, not of {', '.join(names)}."
        )
    check = CHECKS["faithfulness"].with_options(**options)
    questions = questions or check.questions
    subject = {
        "maps": {head_map.name: head_map.digest for head_map in maps},
        "model_hash": model.fingerprint,
        "tasks": [task.hash for task in tasks],
        "questions": questions,
        "share": share,
        "version": VERSION,
    } | dict(check.options)
    store.open()
    pieces = Pieces(store, subject)
    with tracked(progress, f"specificity of {method_label(maps[0])}", len(tasks)) as step:
        result = check_specificity(
            model,
            maps,
            tasks,
            share=share,
            questions=questions,
            options=check.options,
            keep=pieces.get,
            report=lambda steps, words: step(steps, words if pieces.computing else ""),
        )
    store.write_json(f"checks/{result.file_name}.json", result.as_dict())
    return result
