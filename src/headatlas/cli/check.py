"""headatlas check"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from headatlas.cli import options as given
from headatlas.cli.again import StoredModelOptions
from headatlas.cli.screen import note, progress_bar, stdout, waiting
from headatlas.errors import HeadAtlasError

if TYPE_CHECKING:
    from headatlas.checks.held_out import HeldOut
    from headatlas.checks.toggling import Toggling

SIGNS = {"facilitation": "falls", "interference": "rises", "irrelevance": "stays flat"}


def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")],
    *,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", "-t", help="Only these tasks; those from files must be named."),
    ] = None,
    map_name: Annotated[
        str | None, typer.Option("--map", help="Only this map of the folder.")
    ] = None,
    questions: Annotated[
        int,
        typer.Option(
            min=2, help="Test questions for the held-out loss; toggling asks half as many a seed."
        ),
    ] = 64,
    model: StoredModelOptions,
    files: given.FileOptions,
) -> None:
    """Is a map true? Ordered toggling and held-out loss of the gating maps in a folder.

    Toggling: heads are switched in the order of each score, starting from G⁺; the target's
    log-probability should fall for facilitation, rise for interference and stay for irrelevance.
    Held-out: loss on test questions under the learned gates, also made hard (0 or 1), against the
    untouched model. Results and figures go into DIR; a map that was checked before is not asked
    again.

    \b
    Examples:
      headatlas check atlas
      headatlas check atlas --task math --questions 32
    """
    with waiting("starting"):
        from headatlas.checks.held_out import HeldOut, held_out
        from headatlas.checks.toggling import Toggling, toggle, toggling_passes
        from headatlas.cli.again import gating_maps, load_verified_for, of_tasks, task_of
        from headatlas.cli.work import name_files
        from headatlas.plots import FORMATS, save_figure
        from headatlas.plots.toggling import toggling_figure
        from headatlas.runs.store import Store

    named = [files.load(name, model.download) for name in task or []]
    maps = gating_maps(folder, map_name)
    if named:
        maps = of_tasks(maps, named, folder)
    store = Store(folder)
    loaded = None
    written: list[Path] = []
    for name, drawn in maps.items():
        if loaded is None or loaded.fingerprint != drawn.provenance["model_hash"]:
            loaded = load_verified_for(drawn, model)
        asked = task_of(drawn, loaded, named, files)
        if asked is None:
            continue
        seeds = int(drawn.data.sizes["seed"])
        subject: dict[str, Any] = {
            "map": name,
            "map_hash": store.hash_of_map(name),
            "questions": questions,
        }
        if (result := finished_check(folder / "checks" / f"{name}.json", subject)) is None:
            with progress_bar(f"checking {asked.name}", 6 * seeds + toggling_passes(drawn)) as move:
                rows = held_out(loaded, asked, drawn, limit=questions, report=move)
                curves = toggle(loaded, asked, drawn, limit=max(2, questions // 2), report=move)
            result = subject | {
                "task": asked.name,
                "held_out": [row.as_dict() for row in rows],
                "toggling": curves.as_dict(),
            }
        show_held_out(asked.name, [HeldOut(**row) for row in result["held_out"]])
        show_toggling(Toggling.from_dict(result["toggling"]))
        written.append(store.write_json(f"checks/{name}.json", result))
        figure = toggling_figure([result["toggling"]])
        written += [
            save_figure(figure, store.figures / f"{name}.toggling{ending}") for ending in FORMATS
        ]
    if not written:
        raise HeadAtlasError(f"no map in {folder} could be checked.")
    name_files(written)


def finished_check(path: Path, subject: dict[str, Any]) -> dict[str, Any] | None:
    """The stored check of this very map with as many questions, if there is one."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or not subject.items() <= found.items():
        return None
    note(f"the map {subject['map']} was checked before: its check is shown again")
    return found


def show_held_out(task: str, rows: list[HeldOut]) -> None:
    """Print the losses under all gates."""
    table = Table(box=None, pad_edge=False, title_justify="left")
    table.title = f"{task}: {rows[0].questions} test questions"
    columns = ("gates", "heads on", "loss", "accuracy", "change of loss", "95 %", "better seeds")
    for column in columns:
        table.add_column(
            column,
            justify="left" if column == "gates" else "right",
            no_wrap=column != "better seeds",
        )
    for row in rows:
        plain = row.gates == "untouched"
        table.add_row(
            row.gates,
            f"{row.heads_on:.0%}",
            f"{row.loss:.3f}",
            f"{row.accuracy:.0%}",
            "" if plain else f"{row.change:+.3f}",
            "" if plain else f"{row.low:+.3f} … {row.high:+.3f}",
            "" if plain else f"{row.better} of {row.seeds}",
        )
    stdout.print(table)


def show_toggling(curves: Toggling) -> None:
    """Say what toggling found."""
    holds = curves.holds()
    for curve in curves.curves:
        found = f"{curve.end:+.2f} nats ({curve.low:+.2f} … {curve.high:+.2f})"
        verdicts = {
            True: f"{SIGNS[curve.score]}, as it should",
            False: f"NOT as it should: it {SIGNS[curve.score]} for a true map",
            None: "cannot be told",
        }
        words = f"{found}: {verdicts[holds[curve.score]]}" if curve.count else "there are none"
        stdout.print(
            f"toggling {curve.count:.0f} heads by {curve.score}: {words}",
            highlight=False,
            soft_wrap=True,
        )
