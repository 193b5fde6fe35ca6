"""One object for a study: a folder of maps of a model."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.checks.kinds import checks_of
from headatlas.checks.yardstick.task_specificity import SHARE
from headatlas.maps import Comparison, Map, Mediation, load_map
from headatlas.methods import Contrast
from headatlas.models.model import Model
from headatlas.runs import checking, contrasting, drawing, exporting, judging, mapping, summary
from headatlas.runs.models import Models
from headatlas.runs.progress import Callback, show_bars
from headatlas.runs.reload import ModelSource, task_of
from headatlas.runs.specificity import sets_of_tasks
from headatlas.runs.stopping import StoppingRule
from headatlas.runs.store import Store, with_facts
from headatlas.tasks import Task, load_task
from headatlas.tasks.pairs import TaskPairs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headatlas.checks.results import ContrastCheck, Leaderboard, Result, TaskSpecificity
    from headatlas.methods.baseline import Baseline
    from headatlas.methods.method import Method

TaskLike = Task | str | Path


class Atlas:
    """A folder of maps of a model, with their checks, tables and figures.

    `model` is a name for `load_model`, or a loaded `Model`. Without one, new maps are made with the
    embedded model, and stored maps are checked with the model that they were made from. The model
    is loaded and verified once, on first use. Every finished unit of work is kept in the folder, so
    the same call goes on where it was interrupted. `progress` is called with a `Progress` as the
    work goes on; by default it shows bars in terminals and notebooks, `None` shows nothing.

    >>> atlas = Atlas("atlas", model="smollm2-135m")
    >>> gates = atlas.map(Gating(), "math", seeds=10)  # doctest: +SKIP
    >>> gates.top(3)  # doctest: +SKIP
    """

    def __init__(
        self,
        folder: str | Path,
        model: str | Path | Model | None = None,
        *,
        device: str | None = None,
        dtype: str | None = None,
        attn_implementation: str | None = None,
        device_map: str | dict[str, Any] | None = None,
        download: bool = False,
        progress: Callback | None = show_bars,
    ) -> None:
        self.folder = Path(folder)
        self.progress = progress
        self.records: list[dict[str, Any]] = []
        self.store = Store(folder)
        name = None if model is None or isinstance(model, Model) else str(model)
        source = ModelSource(name, device, dtype, attn_implementation, device_map, download)
        self._models = Models(source, progress, model if isinstance(model, Model) else None)

    def __repr__(self) -> str:
        count = len(list(self.store.maps.glob("[!.]*.nc")))
        return f"<Atlas {self.folder}: {count} map{'' if count == 1 else 's'}>"

    @property
    def model(self) -> Model:
        """The model for new maps, loaded and verified when it is first used."""
        return self._models.current

    def model_of(self, head_map: Map) -> Model:
        """The model that a stored map was made from, loaded and verified; raises if it differs."""
        return self._models.of(head_map)

    # -- maps ------------------------------------------------------------------------------------

    def map(
        self,
        method: Method[Any],
        task: TaskLike | TaskPairs,
        seeds: int | None = None,
        *,
        baseline: bool = True,
        until_stable: float | None = None,
        seconds: float | None = None,
    ) -> Map:
        """The map of a task: units that are in the folder are used, what is missing is computed.

        Seeds 0 to `seeds` − 1 are in the map (one unless given), and any further ones that are
        finished already. A gating map may end with fewer: `until_stable` once the reliability of
        its mean over seeds is reached, `seconds` before a seed that would take longer; with either,
        `seeds` are 40 unless given. The `baseline` (what the untouched model scores on the task)
        tells whether the map warns of a task that the model cannot do.
        Writes the map, a table of its heads, and `run.json`.
        """
        mapping.check_method(method)
        subject = task if isinstance(task, TaskPairs) else self._task(task)
        mapping.check_subject(method, subject)
        stopping = StoppingRule.of(method, until_stable, seconds, seeds)
        seeds = stopping.most_seeds if stopping is not None else 1 if seeds is None else seeds
        self.store.check()
        return self._computed(
            self.model, method, subject, seeds, baseline=baseline, stopping=stopping
        )

    def _computed(
        self,
        model: Model,
        method: Method[Any],
        subject: Task | TaskPairs,
        seeds: int = 1,
        *,
        baseline: bool = True,
        stopping: StoppingRule | None = None,
    ) -> Map:
        subject = subject.for_tokenizer(model.tokenizer)
        computed = mapping.compute_map(
            model,
            subject,
            method,
            seeds,
            self.store,
            baseline=baseline,
            progress=self.progress,
            stopping=stopping,
        )
        mapping.write_record(computed, self.store)
        self.records.append(computed.record)
        return self._marked(computed.map)

    def baseline(self, task: TaskLike) -> Baseline:
        """What the untouched model scores on a task, measured once and kept."""
        own_task = self._task(task).for_tokenizer(self.model.tokenizer)
        baseline = mapping.kept_baseline(self.model, own_task, self.store, self.progress)
        assert baseline is not None
        return baseline

    @property
    def files(self) -> list[Path]:
        """The files that were written through this object, units of work aside."""
        return list(self.store.written)

    @property
    def names(self) -> list[str]:
        """The names of the maps in the folder."""
        return list(self.store.map_paths())

    def load(self, name: str) -> Map:
        """The map whose name contains `name`, with the marks of its check if it has one."""
        path = self.store.map_paths()[self.store.find(name)]
        return self._marked(load_map(path))

    def maps(self, *, task: str | None = None, method: str | None = None) -> dict[str, Map]:
        """The maps in the folder by name: all, or those of a task or method."""
        maps = {name: self.load(name) for name in self.names}
        return with_facts(maps, self.folder, task=task, method=method)

    def summary(self, *maps: Map, threshold: float = 0.5) -> list[str]:
        """What maps say, in plain sentences: shares of roles, heads per function, overlaps."""
        return summary.sentences(maps, threshold)

    def _marked(self, head_map: Map) -> Map:
        """The map, joined with the marks of its causal check."""
        return checking.with_stored_marks(head_map, self.store)

    def _map(self, given: Map | str) -> Map:
        return self.load(given) if isinstance(given, str) else given

    def _task(self, task: TaskLike) -> Task:
        if isinstance(task, Task):
            return task
        return load_task(task, download=self._models.source.download)

    def _pair(self, pair: tuple[TaskLike, TaskLike]) -> tuple[Task, Task]:
        retain, forget = contrasting.as_pair(pair)
        return self._task(retain), self._task(forget)

    def task_of(self, head_map: Map, task: TaskLike | None = None) -> Task:
        """The task that a map was made from: the given one, or a built-in one of its name."""
        given = None if task is None else self._task(task)
        return task_of(head_map, self.model_of(head_map), given)

    # -- checks ----------------------------------------------------------------------------------

    def check(
        self,
        head_map: Map | str,
        task: TaskLike | None = None,
        *,
        questions: int | None = None,
        kind: str | None = None,
        **options: str | None,
    ) -> Result:
        """Is a map true? Its main check, or the one that `kind` names, on test questions.

        A map made from a file needs its `task`. The kind `faithfulness` is for maps of all methods;
        its `options` are `replacement` and `measure`. `questions` are 64 unless given, 24 for
        faithfulness. The result is stored beside the map; a map that was checked with as many
        questions or more is not checked again.
        """
        return judging.check(self, self._map(head_map), task, questions, kind, options)

    def checks_of(self, head_map: Map | str) -> list[str]:
        """The kinds of checks that there are for a map, its main check first."""
        return checks_of(self._map(head_map))

    def leaderboard(self, **options: str | None) -> Leaderboard:
        """Which map to trust for which use: all maps whose faithfulness was checked.

        `options` are those of the check. Where the folder holds maps of several models, it is that
        of the model with most; see `leaderboards`.
        """
        return self.leaderboards(**options)[0]

    def leaderboards(self, **options: str | None) -> list[Leaderboard]:
        """The leaderboard of every model, that with most maps first."""
        return judging.leaderboards(self, options)

    def specificity(
        self,
        *maps: Map | str,
        tasks: Iterable[TaskLike] = (),
        share: float = SHARE,
        questions: int | None = None,
        replacement: str | None = None,
        measure: str | None = None,
    ) -> TaskSpecificity:
        """Do tasks need their own heads, more than those of other tasks?

        The most important heads of every map, a `share` of all, are removed, and the test questions
        of all maps' tasks are measured. `maps` are of two or more tasks and one model; `tasks` are
        those that were made from files. All else is as in the check of faithfulness.
        """
        return judging.specificity(
            self,
            [self._map(head_map) for head_map in maps],
            list(map(self._task, tasks)),
            share=share,
            questions=questions,
            options={"replacement": replacement, "measure": measure},
        )

    def sets_of_tasks(self, *maps: Map | str) -> list[list[Map]]:
        """The maps whose `specificity` can be measured, one list per model and method: of those
        given, or of all."""
        return sets_of_tasks([self._map(head_map) for head_map in maps or self.names])

    def result(
        self, head_map: Map | str, kind: str | None = None, **options: str | None
    ) -> Result | None:
        """The stored result of a check of this very map; `None` if there is none."""
        head_map = self._map(head_map)
        check = checking.find_check(head_map, kind, **options)
        return checking.stored_result(head_map, check, self.store)

    def compare(self, *maps: Map | str) -> Comparison:
        """How far two or more maps agree, pair by pair: methods, tasks, or models of one shape."""
        return judging.compare(self, [self._map(head_map) for head_map in maps])

    def compare_all(self) -> list[Comparison]:
        """Compare the maps of each model and task, each model and method, each task and method.

        Where no two maps share that much, all are compared. Those that cannot be compared with the
        others are left out with a note.
        """
        return judging.compare_all(self)

    def mediation(self, patching: Map | str, gating: Map | str) -> Mediation:
        """Do heads that carry what a corrupted prompt takes away facilitate the task more?

        Heads whose indirect effect exceeds the mean by three standard deviations against all
        others, by their largest facilitation over seeds: Welch's t-test.
        """
        return judging.mediation(self, self._map(patching), self._map(gating))

    def mediations(self, *maps: Map | str) -> list[Mediation]:
        """The `mediation` of every patching map and every gating map of the same model and task,
        among some maps or all. A pair that cannot be compared is logged with the reason."""
        return judging.mediations(self, [self._map(one) for one in maps or self.names])

    def causes(self, head_map: Map | str, task: TaskLike | None = None) -> Comparison:
        """Does a probing map, which only reads, agree with one that removes heads?

        Makes an ablation map of every function's examples, and compares the two.
        """
        head_map = self._map(head_map)
        judging.check_probing(head_map)
        compute = partial(self._computed, self.model_of(head_map))
        return judging.compare_causes(self, head_map, task, compute)

    def contrast(
        self,
        pairs: Iterable[tuple[TaskLike, TaskLike]] | None = None,
        method: Contrast | None = None,
        seeds: int = 3,
        *,
        leave_one_out: bool | None = None,
    ) -> ContrastCheck:
        """Learn gates that keep one task and forget another, and test both on test questions.

        `pairs` are (retain, forget). With `leave_one_out` every pair is tested with gates learned
        from the others. Without pairs it is the published experiment: demonstrations against an
        instruction, in both directions, over six word-pair tasks, each left out in turn.
        """
        own = None if pairs is None else [self._pair(pair) for pair in pairs]
        return contrasting.contrast(self, own, method or Contrast(), seeds, leave_one_out)

    # -- figures and models ----------------------------------------------------------------------

    def plot(self, figure: str = "heatmap", *names: str, **settings: Any) -> Figure:
        """Draw a figure from what the folder holds: all maps or results that suit it, or those
        whose names contain one of `names`."""
        return drawing.draw_stored(self, figure, names, settings)

    def save_figures(self, *things: Map | Result) -> list[Path]:
        """Write the standard figures of maps and results into `figures/`, as PNG, SVG and PDF."""
        return drawing.write_figures(things, self.store)

    def export(
        self,
        head_map: Map | str,
        folder: str | Path,
        *,
        form: str = "checkpoint",
        gates: str = "plus",
        hard: bool = False,
        seed: int | None = None,
        task: TaskLike | None = None,
    ) -> exporting.Exported:
        """Learned gates as a model that others can load.

        `form` is `checkpoint`, with the gates folded into the weights, which any loader runs; or
        `adapter`, a small file that `peft` puts on top of the untouched model.
        `gates` are `plus`, `minus` or `free`; `hard` cuts them to 0 or 1 at the threshold that is
        best on the `select` questions. Without a `seed`, the one with the lowest loss on the
        `select` questions is taken.
        """
        given = None if task is None else self._task(task)
        settings = exporting.ExportSettings(form=form, gates=gates, hard=hard, seed=seed)
        return exporting.export_map(self, self._map(head_map), folder, given, settings)
