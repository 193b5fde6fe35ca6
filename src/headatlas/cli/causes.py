"""What 'headatlas probe --causes' adds: maps of the same examples that intervene."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from headatlas.cli.screen import shortened, stdout

if TYPE_CHECKING:
    from headatlas.cli.work import Finished
    from headatlas.models.model import Model
    from headatlas.tasks import Task

EXAMPLES = 32
"""Test examples, over all functions, with which every head is removed."""

SEEDS = 1
BATCH = 4
"""Seeds of gating, and questions an update: there are eight tasks, and their rows are long."""


def map_causes(
    model: Model, checks: list[dict[str, Any]], task: Task, name: str, out: Path
) -> tuple[list[Finished], list[Path]]:
    """Ablation and gating of every function's examples, and how far the three kinds agree."""
    from headatlas.checks.causes import compare_kinds
    from headatlas.cli.work import run_method
    from headatlas.maps import load_map
    from headatlas.methods import Ablation, Gating
    from headatlas.plots import save_in_all_formats
    from headatlas.plots.agreement import agreement_figure
    from headatlas.runs.store import Store

    removing = Ablation(examples=EXAMPLES, by_function=True)
    store = Store(out)
    drawn = load_map(store.maps / f"{name}.nc")
    runs = [run_method(model, checks, task, removing, 1, out)]
    ablation = load_map(runs[0].path)
    gating = {}
    for function in (str(each) for each in drawn.data["function"].to_numpy()):
        runs.append(run_method(model, checks, task.only(function), Gating(batch_size=BATCH), SEEDS, out))
        gating[function] = load_map(runs[-1].path)
    rows = compare_kinds(drawn, ablation, gating)
    show_agreement(rows)
    asked = {"ablation_examples": ablation.provenance["examples_used"], "gating_seeds": SEEDS}
    written = [store.write_json(f"checks/{name}.causes.json", asked | {"agreement": rows})]
    written += save_in_all_formats(agreement_figure(rows), store.figures / f"{name}.causes")
    return runs, [*(run.path for run in runs), *written]


def show_agreement(rows: list[dict[str, Any]]) -> None:
    """Print how far the kinds of map agree, function by function."""
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), title_justify="left")
    table.title = (
        "rank correlation over heads (95 %; within layers), and the share of the "
        f"{rows[0]['top_k']} largest heads that both have (chance {rows[0]['top_expected']:.0%})"
    )
    for column in ("function", "kinds of map", "correlation", "95 %", "within", "top"):
        left = column in ("function", "kinds of map")
        table.add_column(column, justify="left" if left else "right", no_wrap=True)
    for row in rows:
        table.add_row(
            shortened(row["function"]),
            "–".join(row["pair"]),
            f"{row['spearman']:+.2f}",
            f"{row['low']:+.2f} … {row['high']:+.2f}",
            f"{row['within']:+.2f}",
            f"{row['top_overlap']:.0%}",
        )
    stdout.print(table)
