"""headatlas check"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.screen import name_files, note, say, shortened, stdout, table

VERDICTS = {True: "more harm", False: "less harm", None: "unclear"}


def check(
    folder: given.Folder,
    *,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", "-t", help="Only these tasks; give the path of one from a file."),
    ] = None,
    map_name: given.MapNames = None,
    questions: Annotated[
        int,
        typer.Option(
            min=2,
            help="Test questions per map; for gating, divided among seeds (24 to half in each).",
        ),
    ] = 64,
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

    Results and figures go into DIR; a map that was checked before is not checked again. With more
    questions it is, but looking again costs: intervals of a second look are 99 % ones.

    \b
    Examples:
      headatlas check atlas
      headatlas check atlas --task math --questions 32
    """
    tasks = {
        loaded.name: loaded for loaded in (files.load(name, model.download) for name in task or [])
    }
    with model.atlas(folder) as atlas:
        results = []
        skipped = False
        maps = _chosen(atlas, map_name, tasks)
        for head_map in maps:
            _warn(head_map)
            try:
                own = tasks.get(str(head_map.provenance["task"]))
                result = atlas.check(head_map, own, questions=questions)
            except ha.HeadAtlasError as error:
                if len(maps) == 1:
                    raise
                note(f"{head_map.name} is not checked: {error}")
                skipped = True
                continue
            results.append(result)
            marked = [atlas.load(head_map.name)] if isinstance(result, ha.FunctionCheck) else []
            atlas.save_figures(result, *marked)
        if not results:
            raise ha.HeadAtlasError(f"no map in {folder} could be checked.")
    for result in results:
        show_result(result)
    name_files(atlas.files)
    if skipped:
        raise typer.Exit(2)


def _chosen(atlas: ha.Atlas, names: list[str] | None, tasks: dict[str, ha.Task]) -> list[ha.Map]:
    """The maps to check: those named, or all of the tasks that have a check."""
    maps = [atlas.load(name) for name in names or atlas.names]
    checkable = [head_map for head_map in maps if names or atlas.can_check(head_map)]
    if not checkable:
        raise ha.HeadAtlasError(
            f"there is no gating or probing map in {atlas.folder}: run 'headatlas gate' or "
            "'headatlas probe' first."
        )
    have = dict.fromkeys(str(head_map.provenance["task"]) for head_map in checkable)
    for name in tasks:
        if name not in have:
            raise ha.HeadAtlasError(
                f"there is no gating or probing map of '{name}' in {atlas.folder}; there is one of "
                f"{', '.join(have)}."
            )
    return [head_map for head_map in checkable if not tasks or head_map.provenance["task"] in tasks]


def _warn(head_map: ha.Map) -> None:
    """Say beforehand that a map cannot pass."""
    for warning in head_map.reliability.check_warnings if head_map.reliability else ():
        note(f"{head_map.name} cannot pass, whatever its check finds: {warning}")


def show_result(result: ha.Result) -> None:
    """Print what a check found."""
    if isinstance(result, ha.GatingCheck):
        show_held_out(result.about.task, result.held_out, result.about.percent)
    elif isinstance(result, ha.FunctionCheck):
        show_masking(result)
    for line in result.summary():
        say(line)


def show_held_out(task: str, rows: Sequence[Any], level: str = "95 %") -> None:
    """Print the losses under all gates."""
    plain = rows[0]
    say(
        f"{task}: {plain.questions} test questions per seed after {plain.prefixes} few-shot "
        "prompts, loss in nats per token; better: seeds with a lower loss than the untouched model"
    )
    columns = ("gates", "heads on", "loss", "accuracy", "change", level, "better")
    shown = table(*columns, left=("gates",))
    for row in rows:
        untouched = row is plain
        shown.add_row(
            row.gates,
            f"{row.heads_on:.0%}",
            f"{row.loss:.3f}",
            f"{row.accuracy:.0%}",
            "" if untouched else f"{row.change:+.3f}",
            "" if untouched else f"{row.low:+.3f} … {row.high:+.3f}",
            "" if untouched else f"{row.better} of {row.seeds}",
        )
    stdout.print(shown)


def show_masking(result: ha.FunctionCheck) -> None:
    """Print what masking a function's heads does to the function, against random heads."""
    level = result.about.percent
    say(
        f"{result.about.task}, {result.questions} test questions: change of log P (nats per token) "
        "when the heads before a function's elbow are masked, the mean and the range of "
        f"{result.draws} draws of random heads, matched by layer and output size; right: exact "
        "answers and their change"
    )
    columns = ("function", "heads", "own", "random", f"difference, {level}", "right", "vs. random")
    shown = table(*columns, left=("function", "vs. random"))
    for row in result.masking:
        shown.add_row(
            shortened(row.function),
            f"{row.heads}",
            f"{row.change.mean:+.2f}",
            f"{row.control:+.2f} ({min(row.controls):+.2f} … {max(row.controls):+.2f})",
            f"{row.difference.low:+.2f} … {row.difference.high:+.2f}",
            f"{row.accuracy:.0%} {row.accuracy_change.mean:+.0%}",
            VERDICTS[row.holds],
        )
    stdout.print(shown)
