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
    specificity = "specificity"


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
    pushed along their function's direction, and by the same amount along others. A function whose
    heads do no more than random ones is marked in its figures.

    Faithfulness, for maps of all methods: only the most important heads are kept, or they are
    removed, and for comparison orders shuffled within layers. CPR and CMD have the formulas of the
    MIB benchmark, over heads alone: not comparable with its leaderboard. A leaderboard of all maps
    says which to trust for which use; it favours maps that were made with the same replacement.

    Specificity, where a method has maps of several tasks: the most important 5 % of the heads of
    one task are removed, and all tasks measured. Do tasks need their own heads more than others'?

    Results and figures go into DIR; a map that was checked before is not checked again. With more
    questions it is, but looking again costs: a second look uses 99 % intervals.

    \b
    Examples:
      headatlas check atlas
      headatlas check atlas --task math --questions 32
      headatlas check atlas --kind faithfulness --replacement resample
    """
    tasks = {loaded.name: loaded for loaded in files.load_all(task or [], model.download)}
    kinds = [one.value for one in kind or Kind]
    options = {"replacement": replacement.value, "measure": measure.value}
    with model.atlas(folder) as atlas:
        maps = _chosen(atlas, map_name, tasks, kinds)
        checks = _Checks(atlas, tasks, questions, options, named=bool(map_name))
        checks.check_each(maps, kinds)
        if Kind.specificity in kinds:
            checks.compare_tasks(maps)
        if not checks.results:
            needs = "specificity needs maps of two or more tasks by one method"
            raise ha.HeadAtlasError(f"no map in {folder} could be checked ({needs}).")
        for result in checks.results:
            show_result(result)
        if any(isinstance(result, ha.Faithfulness) for result in checks.results):
            for board in atlas.leaderboards(**options):
                show_leaderboard(board)
                atlas.save_figures(board)
    name_files(atlas.files)
    if checks.skipped:
        skipped = ", ".join(checks.skipped)
        raise ha.HeadAtlasError(f"not checked, for the reasons above: {skipped}.")


class _Checks:
    """Checks one after the other: what cannot be checked leaves the rest."""

    def __init__(
        self,
        atlas: ha.Atlas,
        tasks: dict[str, ha.Task],
        questions: int | None,
        options: dict[str, str],
        *,
        named: bool,
    ) -> None:
        self._atlas, self._tasks, self._named = atlas, tasks, named
        self._questions, self._options = questions, options
        self.results: list[ha.Result] = []
        self.skipped: list[str] = []

    def check_each(self, maps: list[ha.Map], kinds: list[str]) -> None:
        atlas = self._atlas
        work = [(one, name) for one in maps for name in atlas.checks_of(one) if name in kinds]
        for head_map, name in work:
            options = self._options if name == Kind.faithfulness else {}
            if name != Kind.faithfulness:
                _warn(head_map)
            own = self._tasks.get(str(head_map.provenance["task"]))
            try:
                result = atlas.check(head_map, own, questions=self._questions, kind=name, **options)
            except ha.HeadAtlasError as error:
                if len(work) == 1:
                    raise
                expected = isinstance(error, ha.NotJudgedError) and not self._named
                self._skip(head_map.name, error, expected=expected)
                continue
            marked = [atlas.load(head_map.name)] if isinstance(result, ha.FunctionCheck) else []
            self._add(result, *marked)

    def compare_tasks(self, maps: list[ha.Map]) -> None:
        for own in self._atlas.sets_of_tasks(*maps):
            try:
                result = self._atlas.specificity(
                    *own,
                    tasks=self._tasks.values(),
                    questions=self._questions,
                    replacement=self._options["replacement"],
                    measure=self._options["measure"],
                )
            except ha.HeadAtlasError as error:
                self._skip(f"the specificity of {' and '.join(one.name for one in own)}", error)
                continue
            self._add(result)

    def _add(self, result: ha.Result, *maps: ha.Map) -> None:
        self.results.append(result)
        self._atlas.save_figures(result, *maps)

    def _skip(self, name: str, error: ha.HeadAtlasError, *, expected: bool = False) -> None:
        """Say what is not checked; the program fails unless that had to be expected."""
        note(f"{name} is not checked: {error}")
        if not expected:
            self.skipped.append(name)


def _chosen(
    atlas: ha.Atlas, names: list[str] | None, tasks: dict[str, ha.Task], kinds: list[str]
) -> list[ha.Map]:
    """The maps to check: those named, or all of the tasks."""
    maps = [
        head_map
        for head_map in map(atlas.load, names or atlas.names)
        if {*atlas.checks_of(head_map), Kind.specificity} & set(kinds)
    ]
    if not maps:
        raise ha.HeadAtlasError(
            f"there is no map in {atlas.folder} that can be checked: run 'headatlas gate', "
            "'headatlas probe' or 'headatlas ablate' first."
        )
    have = dict.fromkeys(str(head_map.provenance["task"]) for head_map in maps)
    for name in tasks:
        if name not in have:
            raise ha.HeadAtlasError(
                f"there is no map of '{name}' in {atlas.folder} that can be checked; there is one "
                f"of {', '.join(have)}."
            )
    return [one for one in maps if not tasks or one.provenance["task"] in tasks]


def _warn(head_map: ha.Map) -> None:
    """Say beforehand that a map cannot pass."""
    for warning in head_map.reliability.check_warnings if head_map.reliability else ():
        note(f"{head_map.name} cannot pass, whatever its check finds: {warning}")
