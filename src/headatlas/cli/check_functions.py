"""What 'headatlas check' does with a map of cognitive functions."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from headatlas.cli.screen import progress_bar, shortened, stdout

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.runs.store import Store
    from headatlas.tasks import Task

VERDICTS = {True: "more", False: "less", None: "unclear"}
CLAIMS = {
    "masking": "a function's heads matter more for it than random heads",
    "specificity": "they matter more for it than other functions' heads",
    "order": "low-order functions' heads matter for high-order functions, more than random heads",
    "strengthening": "pushing heads along their function's direction helps it",
}
HOLDS = {True: "holds", False: "does not hold", None: "undecided"}


def ask_functions(
    model: Model, task: Task, drawn: Map, questions: int, store: Store, subject: dict[str, Any]
) -> dict[str, Any]:
    """Masking, specificity, order and strengthening; every pass is kept as it is finished."""
    from headatlas.checks.functions import check_functions, passes_of
    from headatlas.checks.measure import Answers
    from headatlas.checks.steps import Steps, answer_steps
    from headatlas.cli.probe import read_suite
    from headatlas.maps.functions import ranked_heads
    from headatlas.methods.features import Reading
    from headatlas.models.edit import Edit
    from headatlas.runs.pieces import Pieces

    ranked = ranked_heads(drawn)
    features = read_suite(model, task, Reading.of(drawn.provenance["settings"]), store.folder)
    steps = Steps.of(model, task, tuple(ranked), limit=questions)
    pieces = Pieces(store, subject | {"model_hash": model.fingerprint, "task_hash": task.hash})
    with progress_bar(f"checking {task.name}", passes_of(ranked)) as move:

        def answer(name: str, steps: Steps, edit: Edit) -> Answers:
            move(0, name)
            found = pieces.get(name, lambda: answer_steps(model, steps, edit).as_dict())
            move(1, name)
            return Answers.from_dict(found)

        direction = partial(features.direction, model.spec)
        return check_functions(model.spec, steps, ranked, direction, answer)


def show_functions(result: dict[str, Any], name: str, store: Store) -> list[Path]:
    """Print the check of a map, mark the map, and draw what was found."""
    from headatlas.plots import draw, save_in_all_formats
    from headatlas.plots.causal import masking_figure, specificity_figure, strengthening_figure

    show_masking(result)
    show_claims(result)
    marked = mark_map(result, name, store)
    figures = {
        "functions": draw("functions", marked),
        "masking": masking_figure(result),
        "specificity": specificity_figure(result),
        "strengthening": strengthening_figure(result),
    }
    written = [store.maps / f"{name}.nc"]
    for kind, figure in figures.items():
        written += save_in_all_formats(figure, store.figures / f"{name}.{kind}")
    return written


def mark_map(result: dict[str, Any], name: str, store: Store) -> Map:
    """Write the check's marks into the map's file, and give the map."""
    from headatlas.maps import load_map
    from headatlas.maps.causes import causes_of, mark_causes

    path = store.maps / f"{name}.nc"
    marked = mark_causes(load_map(path), causes_of(result["masking"]), result["questions"])
    marked.save(path)
    return marked


def mark_again(name: str, store: Store) -> Map:
    """The map, with the marks of its check if it has been checked before as it is now."""
    from headatlas.maps import load_map

    drawn = load_map(store.maps / f"{name}.nc")
    try:
        result = json.loads((store.folder / "checks" / f"{name}.json").read_text("utf-8"))
        if result["map_hash"] == drawn.digest:
            return mark_map(result, name, store)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # no check, or a damaged one
    return drawn


def show_masking(result: dict[str, Any]) -> None:
    """Print what masking a function's heads does to the function, against random heads."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), title_justify="left")
    table.title = (
        f"{result['task']}, {result['questions']} test questions: change of log P (nats a token) "
        "when a function's first heads are masked (* those before the elbow), beside "
        f"{result['draws']} draws of random heads; right: exact answers and their change"
    )
    for column in ("function", "heads", "own", "random", "difference, 95 %", "right", "matter"):
        left = column in ("function", "matter")
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    for row in result["masking"]:
        more = row["difference"]
        table.add_row(
            shortened(row["function"]),
            f"{row['heads']}{'*' if row['elbow'] else ' '}",
            f"{row['change']['mean']:+.2f}",
            f"{row['control']:+.2f}",
            f"{more['low']:+.2f} … {more['high']:+.2f}",
            f"{row['accuracy']:.0%} {row['accuracy_change']['mean']:+.0%}",
            VERDICTS[row["holds"]],
        )
    stdout.print(table)


def show_claims(result: dict[str, Any]) -> None:
    """Say what the four published claims come to."""
    for name, claim in result["claims"].items():
        if claim is None:
            continue
        found = f"{claim['mean']:+.3f} nats ({claim['low']:+.3f} … {claim['high']:+.3f})"
        stdout.print(
            f"{CLAIMS[name]}: {HOLDS[claim['holds']]}, {found}", highlight=False, soft_wrap=True
        )
