"""headatlas contrast"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from headatlas.cli import options as given
from headatlas.cli.gate import Schedule, parse_rate
from headatlas.cli.screen import note, stdout, waiting
from headatlas.errors import DivergedError, HeadAtlasError

if TYPE_CHECKING:
    from headatlas.checks.contrast import Contrasted
    from headatlas.tasks import Task

SIX = (
    "antonym",
    "capitalize",
    "country-capital",
    "english-french",
    "present-past",
    "singular-plural",
)
FORMS = ("instruction", "icl")

Pair = tuple["Task", "Task"]


def contrast(
    *,
    out: given.Out,
    retain: Annotated[
        list[str] | None, typer.Option(help="Task and form to keep; may be given several times.")
    ] = None,
    forget: Annotated[
        list[str] | None, typer.Option(help="Task and form to forget, one for every --retain.")
    ] = None,
    leave_one_out: Annotated[
        bool,
        typer.Option(
            "--leave-one-out", help="Test every pair with gates learned from the other pairs."
        ),
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Learn gates anew so many times.")] = 1,
    schedule: Annotated[Schedule, typer.Option(help="default, or paper (500 updates of 64).")] = (
        Schedule.default
    ),
    steps: Annotated[int | None, typer.Option(min=1, help="Updates.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Questions an update and side.")] = None,
    rate: Annotated[str | None, typer.Option(help="Learning rate, START,END: 0.1,0.01.")] = None,
    pressure: Annotated[
        float | None, typer.Option(help="λ: heads that neither side needs are pushed off by it.")
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="Nats by which the forgotten side is to be less likely.")
    ] = None,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Learn gates that keep one form of a task and forget another.

    With nothing to retain or forget given, the published experiment: ten solved examples against
    an instruction with one example, in both directions, over six word-pair tasks, each tested
    with gates learned from the other five.

    \b
    Examples:
      headatlas contrast --retain antonym:instruction --forget antonym:icl --out contrasts
      headatlas contrast --out contrasts
    """
    with waiting("starting"):
        from headatlas.checks.contrast import check_contrast
        from headatlas.cli.work import load_verified, name_files, run_method, write_run
        from headatlas.maps import load_map
        from headatlas.methods.contrast import Contrast
        from headatlas.plots import save_in_all_formats
        from headatlas.plots.contrasts import contrast_figure
        from headatlas.runs.store import Store, joint_name, safe_name
        from headatlas.tasks.pairs import TaskPairs

    if len(retain or ()) != len(forget or ()):
        raise HeadAtlasError(
            f"every --retain needs a --forget: {len(retain or ())} and {len(forget or ())} are "
            "given."
        )
    changes: dict[str, Any] = {
        "steps": steps,
        "batch": batch,
        "rate": parse_rate(rate),
        "pressure": pressure,
        "margin": margin,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    method = Contrast.published(**changes) if schedule == "paper" else Contrast(**changes)
    groups = _groups(retain, forget, lambda name: files.load(name, model.download))
    leave_one_out = leave_one_out or not retain
    for group in groups:
        TaskPairs(*zip(*group, strict=True))  # what is wrong is said before anything is loaded
        if leave_one_out and len(group) < 2:
            raise HeadAtlasError("--leave-one-out needs at least two pairs.")
    store = Store(out)
    store.check()
    loaded, checks = load_verified(model)
    runs, found = [], []
    for group in groups:
        for number, pair in enumerate(group):
            if not leave_one_out and number:
                continue
            learned = [each for each in group if each is not pair] if leave_one_out else group
            pairs = TaskPairs(*zip(*learned, strict=True))
            try:
                runs.append(run_method(loaded, checks, pairs, method, seeds, out))
            except DivergedError as error:
                note(str(error))
                continue
            gates = load_map(runs[-1].path)
            names = [kept.name for kept, _ in learned]
            for kept, lost in [pair] if leave_one_out else group:
                with waiting(f"asking {kept.name} and {lost.name}"):
                    found.append(check_contrast(loaded, kept, lost, gates, names))
    if not found:
        raise DivergedError("no contrast came to an end.")
    show_contrasts(found)
    rows = [each.as_dict() for each in found]
    name = f"contrast-{joint_name([run.path.stem for run in runs])}"
    name = safe_name(name)
    written = [store.write_json(f"checks/{name}.json", {"contrasts": rows})]
    written += save_in_all_formats(contrast_figure(rows), store.figures / name)
    name_files([*(run.path for run in runs), *written, write_run(out, runs)])


def _groups(
    retain: list[str] | None, forget: list[str] | None, load: given.Loader
) -> list[list[Pair]]:
    """Pairs that are learned together: those given, or the six tasks in both directions."""
    if retain and forget:
        return [[(load(a), load(b)) for a, b in zip(retain, forget, strict=True)]]
    directions = (FORMS, FORMS[::-1])
    return [
        [(load(f"{task}:{kept}"), load(f"{task}:{lost}")) for task in SIX]
        for kept, lost in directions
    ]


def show_contrasts(found: list[Contrasted]) -> None:
    """Print accuracies before and after."""
    table = Table(box=None, pad_edge=False)
    columns = ("keep", "forget", "kept: before → after", "forgotten: before → after", "holds")
    for column in columns:
        table.add_column(column, justify="right" if "→" in column else "left")
    verdicts = {True: "yes", False: "no", None: "the model cannot do both"}
    for each in found:
        table.add_row(
            each.retain,
            each.forget,
            f"{each.retain_before:.0%} → {each.retain_after:.0%}",
            f"{each.forget_before:.0%} → {each.forget_after:.0%}",
            verdicts[each.holds],
        )
    stdout.print(table)
    possible = [each for each in found if each.possible]
    holding = sum(bool(each.holds) for each in possible)
    stdout.print(f"holds for {holding} of {len(possible)} pairs that the model can do")
