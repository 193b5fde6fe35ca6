"""Whole checks of stored maps: found again, or run pass by pass and kept."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from headatlas.checks.context import CheckContext
from headatlas.checks.kinds import CHECKS, CheckKind
from headatlas.checks.results import About, FunctionCheck, MapCheck
from headatlas.errors import HeadAtlasError, StoreError
from headatlas.maps.functions import is_probing, with_marks
from headatlas.runs.looks import Looks
from headatlas.runs.mapping import input_maps
from headatlas.runs.pieces import Pieces
from headatlas.runs.progress import Callback, tracked

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.runs.store import Store
    from headatlas.tasks import Task

logger = logging.getLogger(__name__)


def find_check(head_map: Map, kind: str | None = None, **options: str | None) -> CheckKind:
    """The check of a name, or the main check of a map, with options that differ from the usual."""
    if kind is not None and kind not in CHECKS:
        raise HeadAtlasError(f"no check '{kind}': there are {', '.join(CHECKS)}.")
    for name, check in CHECKS.items():
        if kind in (None, name) and check.suits(head_map):
            return check.with_options(**options)
    method = head_map.provenance.get("method", "another method")
    which = f"the check '{kind}' is not for" if kind else "there is no check for"
    raise HeadAtlasError(f"{which} {method} maps.")


def stored_result(
    head_map: Map, check: CheckKind, store: Store, questions: int = 0
) -> MapCheck | None:
    """The stored check of this very map, with at least this number of requested questions."""
    content = store.read_json(f"checks/{head_map.name}{check.suffix}.json")
    if content is None:
        return None
    try:
        result = check.result.from_dict(content)
    except StoreError as error:
        logger.warning("%s", error)
        return None
    about = result.about
    current = (about.map_hash, about.version) == (head_map.digest, check.version)
    if not current or (check.samples_questions and about.requested < questions):
        return None
    return result


def was_checked(head_map: Map, check: CheckKind, store: Store) -> bool:
    """Whether any result of a check of this map is stored, also of what the map was before."""
    return store.read_json(f"checks/{head_map.name}{check.suffix}.json") is not None


def known_result(head_map: Map, check: CheckKind, store: Store, questions: int) -> MapCheck | None:
    """The stored check of this very map if it is good enough; logs that it is reused."""
    result = stored_result(head_map, check, store, questions)
    if result is not None and check.suffix == "":
        logger.warning("%s was checked before; showing the stored result.", head_map.name)
    return result


def run_check(
    check: CheckKind,
    model: Model,
    task: Task,
    head_map: Map,
    questions: int,
    store: Store,
    progress: Callback | None,
) -> MapCheck:
    """Run a check; every pass is kept as it is finished, and the result stored beside the map."""
    if questions < 2:
        raise HeadAtlasError(f"a check needs at least 2 questions, not {questions}.")
    facts = head_map.provenance
    before = stored_result(head_map, check, store)
    looks = Looks(store, head_map, check, None if before is None else before.about)
    about = About(
        map=head_map.name,
        map_hash=head_map.digest,
        model=str(facts["model"]),
        task=task.name,
        requested=questions,
        version=check.version,
        look=looks.number(questions) if check.samples_questions else 1,
    )
    subject = {
        "map": about.map,
        "map_hash": about.map_hash,
        "model_hash": model.fingerprint,
        "task_hash": task.hash,
        "questions": questions,
        "version": check.kept_version or check.version,
    } | dict(check.options)
    store.open()
    inputs = input_maps(model, task, check.inputs(head_map), store, progress)
    pieces = Pieces(store, subject)
    with tracked(progress, f"checking {task.name}", check.passes(head_map)) as step:

        def report(steps: int, words: str) -> None:
            step(steps, words if pieces.computing else "")  # found: says nothing of the time left

        context = CheckContext(
            model, task, head_map, about, inputs, pieces.get, report, check.options
        )
        result = check.run(context)
    looks.add(questions)
    store.write_json(f"checks/{head_map.name}{check.suffix}.json", result.as_dict())
    return result


def with_stored_marks(head_map: Map, store: Store) -> Map:
    """A probing map, joined with the marks of its causal check if it was checked as it is now."""
    if not is_probing(head_map):
        return head_map
    result = stored_result(head_map, CHECKS["functions"], store)
    if not isinstance(result, FunctionCheck):
        return head_map
    return with_marks(head_map, result.marks(), result.questions)
