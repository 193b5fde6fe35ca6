"""Contrastive gating, tested on pairs of tasks that it has not learned from."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headatlas.checks.contrast import (
    QUESTIONS_PER_PREFIX,
    SHUFFLES,
    check_contrast,
    untouched_pair,
)
from headatlas.checks.results import ContrastCheck, Contrasted
from headatlas.errors import DivergedError, HeadAtlasError
from headatlas.runs.pieces import Pieces
from headatlas.runs.progress import tracked
from headatlas.tasks import Task, load_task
from headatlas.tasks.pairs import TaskPairs

if TYPE_CHECKING:
    from headatlas.checks.measure import Keep
    from headatlas.maps import Map
    from headatlas.methods import Contrast
    from headatlas.runs.atlas import Atlas

logger = logging.getLogger(__name__)

SIX_TASKS = (
    "antonym",
    "capitalize",
    "country-capital",
    "english-french",
    "present-past",
    "singular-plural",
)
FORMS = ("instruction", "icl")
VERSION = 2
"""Goes up when the same test would give other numbers."""

Pair = tuple[Task, Task]


def published_groups() -> list[list[Pair]]:
    """The published experiment: demonstrations against an instruction, in both directions."""
    return [
        [(load_task(f"{task}:{kept}"), load_task(f"{task}:{lost}")) for task in SIX_TASKS]
        for kept, lost in (FORMS, FORMS[::-1])
    ]


def as_pair(pair: Any) -> tuple[Any, Any]:
    """What to retain and what to forget; raises unless there are two."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise HeadAtlasError(f"a contrast takes pairs (retain, forget), not {pair!r}.")
    retain, forget = pair
    return retain, forget


def fits_and_tests(
    group: Sequence[Pair], leave_one_out: bool
) -> Iterator[tuple[TaskPairs, list[Pair]]]:
    """The pairs that gates are learned from, each with the pairs that they are tested on."""
    if not group:
        raise HeadAtlasError("a contrast needs at least one pair of tasks.")
    if not leave_one_out:
        yield TaskPairs(*zip(*group, strict=True)), list(group)
        return
    if len(group) < 2:
        raise HeadAtlasError("leaving one pair out needs at least two pairs.")
    for number, pair in enumerate(group):
        learned = [other for i, other in enumerate(group) if i != number]
        yield TaskPairs(*zip(*learned, strict=True)), [pair]


def contrast(
    atlas: Atlas,
    pairs: list[Pair] | None,
    method: Contrast,
    seeds: int,
    leave_one_out: bool | None,
) -> ContrastCheck:
    """Learn the gates of all pairs and test them; what diverges is left out.

    Without pairs it is the published experiment, which leaves each out in turn. No gates are
    learned for a pair that is left out alone and that the model cannot do.
    """
    groups = published_groups() if pairs is None else [pairs]
    leave_one_out = pairs is None if leave_one_out is None else leave_one_out
    work = [
        fit_and_test for group in groups for fit_and_test in fits_and_tests(group, leave_one_out)
    ]
    names, contrasts, diverged = [], [], 0
    for learned, tested in work:
        if leave_one_out and not (before := _untouched(atlas, learned, *tested[0])).possible:
            contrasts.append(before)
            continue
        try:
            gates = atlas.map(method, learned, seeds)
        except DivergedError as error:
            logger.warning("%s", error)
            diverged += 1
            continue
        names.append(gates.name)
        subject = {"map": gates.name, "map_hash": gates.digest, "version": VERSION}
        keep = Pieces(atlas.store, subject).get
        with tracked(atlas.progress, f"testing {gates.name}", len(tested)) as step:
            for kept, lost in tested:
                contrasts.append(_tested(atlas, gates, learned, kept, lost, keep))
                step(1, f"{kept.name} and {lost.name}")
    if not names and diverged:
        raise DivergedError("every contrast diverged: a lower learning rate may help.")
    if not names:
        raise HeadAtlasError(
            "there is no pair whose two tasks the model can both do: nothing to keep or to forget."
        )
    result = ContrastCheck(atlas.model.spec.name, tuple(names), tuple(contrasts))
    atlas.store.write_json(f"checks/{result.file_name}.contrast.json", result.as_dict())
    return result


def _untouched(atlas: Atlas, pairs: TaskPairs, kept: Task, lost: Task) -> Contrasted:
    """A pair with the untouched model, measured once and kept."""
    model = atlas.model

    def measure() -> dict[str, Any]:
        with tracked(atlas.progress, f"baseline of {kept.name} and {lost.name}"):
            return untouched_pair(model, kept, lost).as_dict()

    subject = {"model_hash": model.fingerprint, "version": VERSION, "pair": [kept.hash, lost.hash]}
    stored = Contrasted.from_dict(Pieces(atlas.store, subject).get("untouched pair", measure))
    return replace(stored, learned_from=tuple(task.name for task in pairs.retain))


def _tested(
    atlas: Atlas, gates: Map, pairs: TaskPairs, kept: Task, lost: Task, keep: Keep
) -> Contrasted:
    learned_from = [task.name for task in pairs.retain]

    def test() -> dict[str, Any]:
        return check_contrast(atlas.model, kept, lost, gates, learned_from).as_dict()

    settings = f"{QUESTIONS_PER_PREFIX} questions a prefix, {SHUFFLES} shuffles"
    return Contrasted.from_dict(keep(f"contrast, {settings}: {kept.hash} {lost.hash}", test))
