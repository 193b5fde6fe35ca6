"""What 'headatlas check' does with a map of gating."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from headatlas.cli.screen import progress_bar, stdout

if TYPE_CHECKING:
    from headatlas.checks.held_out import HeldOut
    from headatlas.checks.toggling import Toggling
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.runs.store import Store
    from headatlas.tasks import Task

SIGNS = {"facilitation": "falls", "interference": "rises", "irrelevance": "stays flat"}


def ask_gating(
    model: Model, task: Task, drawn: Map, questions: int, store: Store, subject: dict[str, Any]
) -> dict[str, Any]:
    """Held-out loss and ordered toggling; every pass is kept as it is finished."""
    from headatlas.checks.held_out import held_out
    from headatlas.checks.toggling import toggle, toggling_passes
    from headatlas.runs.pieces import Pieces

    seeds = int(drawn.data.sizes["seed"])
    keep = Pieces(store, subject).get
    with progress_bar(f"checking {task.name}", 6 * seeds + toggling_passes(drawn)) as move:
        rows = held_out(model, task, drawn, limit=questions, report=move, keep=keep)
        curves = toggle(model, task, drawn, limit=max(2, questions // 2), report=move, keep=keep)
    return {"held_out": [row.as_dict() for row in rows], "toggling": curves.as_dict()}


def show_gating(result: dict[str, Any], name: str, store: Store) -> list[Path]:
    """Print the check of a map and draw its figure."""
    from headatlas.checks.held_out import HeldOut
    from headatlas.checks.toggling import Toggling
    from headatlas.plots import save_in_all_formats
    from headatlas.plots.toggling import toggling_figure

    show_held_out(result["task"], [HeldOut(**row) for row in result["held_out"]])
    show_toggling(Toggling.from_dict(result["toggling"]))
    figure = toggling_figure([result["toggling"]])
    return save_in_all_formats(figure, store.figures / f"{name}.toggling")


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
