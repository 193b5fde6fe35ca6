"""headatlas check"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import effect_options as effect
from headatlas.cli import options as given
from headatlas.cli.check_tables import show_leaderboard, show_result
from headatlas.cli.screen import name_files, note


class Kind(StrEnum):
    """The checks that there are."""

    gating = "gating"
    functions = "functions"
    faithfulness = "faithfulness"


def check(
    folder: given.Folder,
    *,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", "-t", help="Only these tasks; give the path of one from a file."),
    ] = None,
    map_name: given.MapNames = None,
    kind: Annotated[
        list[Kind] | None,
        typer.Option("--kind", help="Only these checks (default: all that suit a map)."),
    ] = None,
    questions: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Test questions per map (default: 64, for faithfulness 24); for gating, divided "
            "among seeds (24 to half in each).",
        ),
    ] = None,
    replacement: Annotated[
        effect.Replacement,
        typer.Option(help="What replaces removed heads, for faithfulness."),
    ] = effect.Replacement.mean,
    measure: Annotated[
        effect.Measure, typer.Option(help="What is measured, for faithfulness.")
    ] = effect.Measure.logprob,
    model: given.StoredModelOptions,
    files: given.FileOptions,
) -> None:
    """Is a map true? Causal checks on test questions.

    Gating. Toggling: heads are switched in the order of each score, starting from G⁺, and for
    comparison random heads of the same layers, the nearest in output size. The target's
    log-probability should fall more than with random heads for facilitation, rise for interference
    and stay for irrelevance. Held-out: loss under the learned gates, also made hard (0 or 1),
    against the untouched model.

    Probing. A function's heads are masked, and as many random heads of the same layers and output
    size; equally many heads of each function are masked and all functions measured; heads are
    pushed along their function's direction, and as far along others. A function whose heads do no
    more than random ones is marked in its figures.

    Faithfulness, for maps of all methods: only the most important heads are kept, or they are
    removed, and for comparison orders shuffled within layers. CPR and CMD are the areas of the MIB
    benchmark; a leaderboard of all maps says which to trust for which use.

    Results and figures go into DIR; a map that was checked before is not checked again. With more
    questions it is, but looking again costs: intervals of a second look are 99 % ones.

    \b
    Examples:
      headatlas check atlas
      headatlas check atlas --task math --questions 32
      headatlas check atlas --kind faithfulness --replacement resample
    """
    tasks = {
        loaded.name: loaded for loaded in (files.load(name, model.download) for name in task or [])
    }
    options = {"replacement": replacement.value, "measure": measure.value}
    with model.atlas(folder) as atlas:
        results: list[ha.Result] = []
        skipped = False
        work = _chosen(atlas, map_name, tasks, kind)
        for head_map, name in work:
            if name != Kind.faithfulness:
                _warn(head_map)
            own = tasks.get(str(head_map.provenance["task"]))
            chosen = options if name == Kind.faithfulness else {}
            try:
                result = atlas.check(head_map, own, questions=questions, kind=name, **chosen)
            except ha.HeadAtlasError as error:
                if len(work) == 1:
                    raise
                note(f"{head_map.name} is not checked: {error}")
                skipped = True
                continue
            results.append(result)
            marked = [atlas.load(head_map.name)] if isinstance(result, ha.FunctionCheck) else []
            atlas.save_figures(result, *marked)
        if not results:
            raise ha.HeadAtlasError(f"no map in {folder} could be checked.")
        board = None
        if any(isinstance(result, ha.Faithfulness) for result in results):
            board = atlas.leaderboard(**options)
            atlas.save_figures(board)
    for result in results:
        show_result(result)
    if board is not None:
        show_leaderboard(board)
    name_files(atlas.files)
    if skipped:
        raise typer.Exit(2)


def _chosen(
    atlas: ha.Atlas,
    names: list[str] | None,
    tasks: dict[str, ha.Task],
    kinds: list[Kind] | None,
) -> list[tuple[ha.Map, str]]:
    """The maps to check and how: those named, or all of the tasks."""
    maps = [atlas.load(name) for name in names or atlas.names]
    known = [kind.value for kind in kinds or Kind]
    work = [
        (head_map, name) for head_map in maps for name in atlas.checks_of(head_map) if name in known
    ]
    if not work:
        raise ha.HeadAtlasError(
            f"there is no map in {atlas.folder} that can be checked: run 'headatlas gate', "
            "'headatlas probe' or 'headatlas ablate' first."
        )
    have = dict.fromkeys(str(head_map.provenance["task"]) for head_map, _ in work)
    for name in tasks:
        if name not in have:
            raise ha.HeadAtlasError(
                f"there is no map of '{name}' in {atlas.folder} that can be checked; there is one "
                f"of {', '.join(have)}."
            )
    return [(one, name) for one, name in work if not tasks or one.provenance["task"] in tasks]


def _warn(head_map: ha.Map) -> None:
    """Say beforehand that a map cannot pass."""
    for warning in head_map.reliability.check_warnings if head_map.reliability else ():
        note(f"{head_map.name} cannot pass, whatever its check finds: {warning}")
