"""Checks and comparisons of the maps of an atlas, kept in its folder."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from headatlas.checks.results import Leaderboard
from headatlas.errors import HeadAtlasError
from headatlas.maps import compare_maps, mediation_of
from headatlas.maps.functions import is_probing
from headatlas.runs import causes, checking, comparing
from headatlas.runs.leaderboard import stored_leaderboards
from headatlas.runs.progress import tracked
from headatlas.runs.specificity import stored_specificity

if TYPE_CHECKING:
    from headatlas.checks.results import Result, TaskSpecificity
    from headatlas.maps import Comparison, Map, Mediation
    from headatlas.runs.atlas import Atlas, TaskLike
    from headatlas.runs.store import Store
    from headatlas.tasks import Task

logger = logging.getLogger(__name__)

Options = Mapping[str, str | None]


def check(
    atlas: Atlas,
    head_map: Map,
    task: TaskLike | None,
    questions: int | None,
    kind: str | None,
    options: Options,
) -> Result:
    """A check of a map, unless one with as many questions is stored."""
    found = checking.find_check(head_map, kind, **options)
    questions = found.questions if questions is None else questions
    stored = checking.known_result(head_map, found, atlas.store, questions)
    if stored is not None:
        return stored
    model = atlas.model_of(head_map)
    own_task = atlas.task_of(head_map, task)
    return checking.run_check(
        found, model, own_task, head_map, questions, atlas.store, atlas.progress
    )


def leaderboards(atlas: Atlas, options: Options) -> list[Leaderboard]:
    """All maps whose faithfulness was checked, a leaderboard per model."""
    boards = stored_leaderboards(list(atlas.maps().values()), atlas.store, **options)
    for board in boards:
        atlas.store.write_json(f"checks/{board.file_name}.json", board.as_dict())
    _remove_earlier(boards, atlas.store)
    return boards


def _remove_earlier(boards: Sequence[Leaderboard], store: Store) -> None:
    """Remove boards that these take the place of: a model's file has another name once there are
    several models."""
    kinds = {(board.replacement, board.measure) for board in boards}
    names = {f"{board.file_name}.json" for board in boards}
    for path in (store.folder / "checks").glob("leaderboard*.json"):
        content = store.read_json(f"checks/{path.name}") or {}
        if content.get("kind") != Leaderboard.kind:
            continue  # a check of a map whose name begins so
        if (content.get("replacement"), content.get("measure")) in kinds and path.name not in names:
            path.unlink()


def specificity(
    atlas: Atlas,
    maps: Sequence[Map],
    tasks: Sequence[Task],
    *,
    share: float,
    questions: int | None,
    options: Options,
) -> TaskSpecificity:
    """The most important heads of every map are removed, and all maps' tasks measured."""
    given = {task.name: task for task in tasks}
    own = [atlas.task_of(one, given.get(str(one.provenance["task"]))) for one in maps]
    if len({one.provenance["model_hash"] for one in maps}) > 1:
        raise HeadAtlasError("specificity is measured on maps of one model.")
    return stored_specificity(
        atlas.model_of(maps[0]) if maps else atlas.model,
        maps,
        own,
        share=share,
        questions=questions,
        options=options,
        store=atlas.store,
        progress=atlas.progress,
    )


def compare(atlas: Atlas, maps: Sequence[Map]) -> Comparison:
    """How far maps agree, pair by pair."""
    comparison = compare_maps(*maps)
    atlas.store.write_json(f"checks/{comparison.file_name}.comparison.json", comparison.as_dict())
    return comparison


def compare_all(atlas: Atlas) -> list[Comparison]:
    """Maps that share all but one of model, task and method."""
    groups = comparing.groups(list(atlas.maps().values()))
    if not groups:
        raise HeadAtlasError(f"no two maps in {atlas.folder} can be compared.")
    comparisons = []
    with tracked(atlas.progress, "comparing maps", len(groups)) as step:
        for group in groups:
            comparisons.append(compare(atlas, group))
            step(1, comparisons[-1].subject)
    return comparisons


def mediation(atlas: Atlas, patching: Map, gating: Map) -> Mediation:
    """Heads that mediate against all others, by their facilitation."""
    found = mediation_of(patching, gating)
    atlas.store.write_json(f"checks/{found.file_name}.mediation.json", found.as_dict())
    return found


def mediations(atlas: Atlas, maps: Sequence[Map]) -> list[Mediation]:
    """The mediation of all pairs of a patching and a gating map that can be compared."""
    made = []
    for patching, gating in comparing.mediation_pairs(maps):
        try:
            made.append(mediation(atlas, patching, gating))
        except HeadAtlasError as error:
            logger.warning(
                "mediation of %s and %s is not tested: %s", patching.name, gating.name, error
            )
    return made


def compare_causes(
    atlas: Atlas, head_map: Map, task: TaskLike | None, compute: Callable[..., Map]
) -> Comparison:
    """A probing map against an ablation map of every function, which `compute` makes."""
    comparison = causes.compare_causes(compute, head_map, atlas.task_of(head_map, task))
    atlas.store.write_json(f"checks/{head_map.name}.causes.json", comparison.as_dict())
    return comparison


def check_probing(head_map: Map) -> None:
    """Raise for maps of anything but functions."""
    if not is_probing(head_map):
        raise HeadAtlasError("only probing maps are compared with their causes.")
