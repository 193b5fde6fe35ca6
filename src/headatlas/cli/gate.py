"""headatlas gate"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from headatlas.cli import options as given
from headatlas.cli.csv_text import as_csv
from headatlas.cli.screen import note, stdout, waiting
from headatlas.errors import DivergedError, HeadAtlasError

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
        int | None,
        typer.Option(min=1, help="Updates of each pushed fit (default: as --steps)."),
    ] = None
    batch: Annotated[int | None, typer.Option(min=1, help="Questions an update.")] = None
    rate: Annotated[
        str | None, typer.Option(help="Learning rate of the free fit, START,END: 0.1,0.01.")
    ] = None
    pushed_learning_rate: Annotated[
        str | None, typer.Option(help="Learning rate of the pushed fits, START,END.")
    ] = None
    memory: Annotated[
        float | None, typer.Option(help="β₂ of Adam: how long past gradients count.")
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
    patience: Annotated[
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
            "batch": self.batch_size,
            "rate": parse_rate(self.learning_rate),
            "pushed_learning_rate": parse_rate(self.pushed_learning_rate),
            "memory": self.beta2,
            "pressure": self.regularization,
            "clamp": self.clamp,
            "clip": self.max_grad_norm,
            "patience": self.patience,
            "baseline": self.baseline.value,
        }
        changes = {name: value for name, value in changes.items() if value is not None}
        if self.max_grad_norm == 0:
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
    threshold: Annotated[
        float, typer.Option(help="The score from which a head has a role, in tables.")
    ] = 0.5,
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

    if not 0 < threshold < 1:
        raise HeadAtlasError(f"--threshold lies between 0 and 1, not at {threshold}.")
    names = list(dict.fromkeys(task or ["singular-plural"]))
    method = gating.method()
    chosen = [files.load(name, model.download) for name in names]
    Store(out).check()
    loaded, checks = load_verified(model)
    runs, written = gate_tasks(loaded, checks, chosen, method, seeds, out, threshold)
    name_files([*written, write_run(out, runs)])


def gate_tasks(
    model: Model,
    checks: list[dict[str, Any]],
    tasks: list[Task],
    method: Gating,
    seeds: int,
    out: Path,
    threshold: float = 0.5,
) -> tuple[list[Finished], list[Path]]:
    """Gate some tasks, print what was found, and write maps, tables and the figure of all."""
    from headatlas.cli.work import draw_maps, run_method
    from headatlas.maps import load_map
    from headatlas.maps.roles import head_table
    from headatlas.runs.store import Store, joint_name

    runs = []
    for task in tasks:
        try:
            runs.append(run_method(model, checks, task, method, seeds, out))
        except DivergedError as error:
            if len(tasks) == 1:
                raise
            note(str(error))
    if not runs:
        raise DivergedError("no task came to an end.")
    paths = [run.path for run in runs]
    maps = [load_map(path) for path in paths]
    tables = [
        Store(out).write_text(
            f"tables/{path.stem}.heads.csv", as_csv(head_table(drawn, threshold), ".4f")
        )
        for drawn, path in zip(maps, paths, strict=True)
    ]
    figures = draw_maps(maps, "always-any", out, joint_name([path.stem for path in paths]))
    show_shares(maps, threshold)
    show_overlaps(maps, threshold)
    for drawn in maps:
        show_unstable(drawn, threshold)
    return runs, [*paths, *tables, *figures]


def show_shares(maps: list[Map], threshold: float) -> None:
    """Print the share of facilitating and interfering heads, always and ever, of every task."""
    from headatlas.maps.roles import THRESHOLD, shares

    table = Table(box=None, pad_edge=False)
    for column in ("task", "heads", "facilitating", "interfering", "published F / N, 10 seeds"):
        table.add_column(column, justify="left" if column == "task" else "right")
    found: list[tuple[str, ...]] = []
    for drawn in maps:
        task, seeds = str(drawn.provenance.get("task")), drawn.data.sizes["seed"]
        for rule, share in shares(drawn, threshold).items():
            own = (f"{share[name]:.1%}" for name in ("facilitation", "interference"))
            known = _published(drawn, rule) if threshold == THRESHOLD else ""
            found.append((task, f"{rule}, {seeds} seed{'' if seeds == 1 else 's'}", *own, known))
    for row in found:
        table.add_row(*row)
    if not any(row[-1] for row in found):
        table.columns.pop()
    stdout.print(table)


def _published(drawn: Map, rule: str) -> str:
    """The published shares, where model and task are those of the paper."""
    from headatlas.maps.published import published_shares
    from headatlas.tasks import BUILT_IN, load_task

    facts = drawn.provenance
    task = str(facts.get("task"))
    if task not in BUILT_IN or load_task(task).hash != facts.get("task_hash"):
        return ""
    known = published_shares(str(facts.get("model")), task, rule)
    return f"{known[0]:.1f}% / {known[1]:.1f}%" if known else ""


def show_overlaps(maps: list[Map], threshold: float) -> None:
    """Say how many heads seeds, and tasks, have in common."""
    from headatlas.maps.roles import overlap, seed_overlap

    for drawn in maps:
        if drawn.data.sizes["seed"] > 1:
            scores = ("facilitation", "interference")
            shares = [seed_overlap(drawn, name, threshold) for name in scores]
            stdout.print(
                f"{drawn.provenance.get('task')}: two seeds share {shares[0]:.0%} of the heads "
                f"that facilitate in either, and {shares[1]:.0%} of those that interfere",
                highlight=False, soft_wrap=True, markup=False,
            )  # fmt: skip
    for one, two in combinations(maps, 2):
        first, second = (each.aggregate("always")["facilitation"] for each in (one, two))
        both = overlap(first, second, threshold)
        names = " and ".join(str(each.provenance.get("task")) for each in (one, two))
        stdout.print(
            f"{names}: {both.common} heads always facilitate both, {both.share:.0%} of those that "
            f"facilitate either (by chance {both.expected:.0%}, if their seeds did not start from "
            "the same gates)",
            highlight=False, soft_wrap=True, markup=False,
        )  # fmt: skip


def show_unstable(drawn: Map, threshold: float) -> None:
    """Say which heads facilitate in some seeds and interfere in others."""
    from headatlas.maps.roles import unstable_heads

    heads = sorted(unstable_heads(drawn, threshold), key=lambda each: -min(each[2:]))
    if not heads:
        return
    shown = ", ".join(f"{layer}.{head} ({f}/{n})" for layer, head, f, n in heads[:UNSTABLE_SHOWN])
    more = ", …" if len(heads) > UNSTABLE_SHOWN else ""
    note(
        f"{len(heads)} heads facilitate {drawn.provenance.get('task')} in some seeds and interfere "
        f"in others: {shown}{more}"
    )


def parse_rate(text: str | None) -> tuple[float, float] | None:
    """The two ends of a learning rate as the user writes them."""
    if text is None:
        return None
    try:
        start, end = (float(part) for part in text.split(","))
    except ValueError:
        raise HeadAtlasError(
            f"'{text}' is no learning rate: write START,END, such as 0.5,0.1."
        ) from None
    return start, end
