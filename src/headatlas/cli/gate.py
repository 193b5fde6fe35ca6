"""headatlas gate"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from headatlas.cli import options as given
from headatlas.cli.screen import note, stdout, waiting
from headatlas.errors import HeadAtlasError

if TYPE_CHECKING:
    from headatlas.cli.work import Finished
    from headatlas.maps import Map
    from headatlas.methods import Gating
    from headatlas.models.model import Model
    from headatlas.tasks import Task

UNSTABLE_SHOWN = 8


class Schedule(StrEnum):
    """How long gates are learned."""

    default = "default"
    paper = "paper"


class Baseline(StrEnum):
    """What takes the place of a closed head."""

    zero = "zero"
    mean = "mean"


@dataclass(frozen=True)
class GatingOptions:
    """The settings of gating; what is not given comes from the schedule."""

    schedule: Annotated[
        Schedule, typer.Option(help="default, or paper: exactly the published one, much longer.")
    ] = Schedule.default
    steps: Annotated[int | None, typer.Option(min=1, help="Updates of the free fit.")] = None
    pushed_steps: Annotated[
        int | None, typer.Option(min=1, help="Updates of each pushed fit (default: as --steps).")
    ] = None
    batch: Annotated[int | None, typer.Option(min=1, help="Questions an update.")] = None
    rate: Annotated[
        str | None, typer.Option(help="Learning rate of the free fit, START,END: 0.1,0.01.")
    ] = None
    pushed_rate: Annotated[
        str | None, typer.Option(help="Learning rate of the pushed fits, START,END.")
    ] = None
    pressure: Annotated[
        float | None, typer.Option(help="λ of the pushed fits, used both ways.")
    ] = None
    clamp: Annotated[
        float | None, typer.Option(help="Gates' logits are pushed no further than this.")
    ] = None
    clip: Annotated[
        float | None, typer.Option(min=0, help="Largest norm of a gradient; 0: any.")
    ] = None
    settle: Annotated[
        int | None,
        typer.Option(min=1, help="End a fit when no gate crossed 0.5 in so many updates."),
    ] = None
    baseline: Annotated[
        Baseline, typer.Option(help="What takes a closed head's place: nothing, or its mean.")
    ] = Baseline.zero

    def method(self) -> Gating:
        """The method with these settings."""
        from headatlas.methods import Gating

        changes: dict[str, Any] = {
            "steps": self.steps,
            "pushed_steps": self.pushed_steps,
            "batch": self.batch,
            "rate": _parse_rate(self.rate),
            "pushed_rate": _parse_rate(self.pushed_rate),
            "pressure": self.pressure,
            "clamp": self.clamp,
            "clip": self.clip,
            "settle": self.settle,
            "baseline": self.baseline.value,
        }
        changes = {name: value for name, value in changes.items() if value is not None}
        if self.clip == 0:
            changes["clip"] = None
        return Gating.published(**changes) if self.schedule == "paper" else Gating(**changes)


def gate(
    *,
    out: given.Out,
    task: Annotated[
        list[str] | None,
        typer.Option(
            "--task",
            "-t",
            help="As in 'headatlas ablate'; may be given several times (default: singular-plural).",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Learn gates anew so many times.")] = 10,
    gating: GatingOptions,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Learn a gate on every head: which does a task need, which are in its way?

    Three fits a seed (free, pushed on, pushed off) give every head its facilitation F, its
    interference N and its irrelevance R. Writes a map per task, a table of all heads, and the
    figure of what holds always (in every seed) and in any. Every finished seed is kept: running
    the same command again goes on with the next one.

    \b
    Examples:
      headatlas gate --task math --task syntax --out atlas
      headatlas gate --model Qwen/Qwen3-0.6B --task my.jsonl --seeds 3 --out atlas
      headatlas gate --task antonym --schedule paper --out atlas
    """
    with waiting("starting"):
        from headatlas.cli.work import load_verified, name_files, write_run
        from headatlas.runs.store import Store

    names = list(dict.fromkeys(task or ["singular-plural"]))
    method = gating.method()
    chosen = [files.load(name, model.download) for name in names]
    Store(out).check()
    loaded, checks = load_verified(model)
    runs, written = gate_tasks(loaded, checks, chosen, method, seeds, out)
    name_files([*written, write_run(out, runs)])


def gate_tasks(
    model: Model,
    checks: list[dict[str, Any]],
    tasks: list[Task],
    method: Gating,
    seeds: int,
    out: Path,
) -> tuple[list[Finished], list[Path]]:
    """Gate some tasks, print what was found, and write maps, tables and the figure of all."""
    from headatlas.cli.work import draw_maps, run_method
    from headatlas.maps import load_map
    from headatlas.runs.store import safe_name

    runs = [run_method(model, checks, task, method, seeds, out) for task in tasks]
    paths = [run.path for run in runs]
    maps = [load_map(path) for path in paths]
    tables = [
        write_heads(drawn, out / "tables" / f"{path.stem}.heads.csv")
        for drawn, path in zip(maps, paths, strict=True)
    ]
    name = safe_name("+".join(path.stem for path in paths))[:120]
    figures = draw_maps(maps, "always-any", out, name)
    show_shares(maps)
    for drawn in maps:
        show_unstable(drawn)
    return runs, [*paths, *tables, *figures]


def write_heads(drawn: Map, path: Path) -> Path:
    """Write the table of all heads as CSV."""
    from headatlas.maps.roles import head_table

    rows = head_table(drawn)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow({key: _rounded(value) for key, value in row.items()})
    return path


def _rounded(value: object) -> object:
    return f"{value:.4f}" if isinstance(value, float) else value


def show_shares(maps: list[Map]) -> None:
    """Print the share of facilitating and interfering heads, always and ever, of every task."""
    from headatlas.maps.published import published_shares
    from headatlas.maps.roles import seed_overlap, shares

    table = Table(box=None, pad_edge=False)
    columns = ("task", "heads", "facilitating", "interfering", "published F / N")
    for column in columns:
        table.add_column(column, justify="left" if column == "task" else "right")
    found: list[tuple[str, ...]] = []
    for drawn in maps:
        facts = drawn.provenance
        for rule, share in shares(drawn).items():
            known = published_shares(str(facts.get("model")), str(facts.get("task")), rule)
            found.append(
                (
                    str(facts.get("task")),
                    rule,
                    f"{share['facilitation']:.1%}",
                    f"{share['interference']:.1%}",
                    f"{known[0]:.1f} % / {known[1]:.1f} %" if known else "",
                )
            )
        if drawn.data.sizes["seed"] > 1:
            common = [seed_overlap(drawn, name) for name in ("facilitation", "interference")]
            found.append(
                (str(facts.get("task")), "common to two seeds", *(f"{x:.1%}" for x in common), "")
            )
    for row in found:
        table.add_row(*row)
    if not any(row[-1] for row in found):
        table.columns.pop()
    stdout.print(table)


def show_unstable(drawn: Map) -> None:
    """Say which heads facilitate in some seeds and interfere in others."""
    from headatlas.maps.roles import unstable_heads

    heads = sorted(unstable_heads(drawn), key=lambda each: -min(each[2:]))
    if not heads:
        return
    shown = ", ".join(f"{layer}.{head} ({f}/{n})" for layer, head, f, n in heads[:UNSTABLE_SHOWN])
    more = ", …" if len(heads) > UNSTABLE_SHOWN else ""
    note(
        f"{len(heads)} heads facilitate {drawn.provenance.get('task')} in some seeds and interfere "
        f"in others: {shown}{more}"
    )


def _parse_rate(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    try:
        start, end = (float(part) for part in text.split(","))
    except ValueError:
        raise HeadAtlasError(
            f"'{text}' is no learning rate: write START,END, such as 0.5,0.1."
        ) from None
    return start, end
