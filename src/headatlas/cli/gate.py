"""headatlas gate"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.screen import note
from headatlas.cli.top import finish


class Schedule(StrEnum):
    """How long gates are learned."""

    default = "default"
    paper = "paper"


class Replacement(StrEnum):
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
    batch_size: Annotated[int | None, typer.Option(min=1, help="Questions per update.")] = None
    learning_rate: Annotated[
        str | None, typer.Option(help="Learning rate of the free fit, START,END: 0.1,0.01.")
    ] = None
    pushed_learning_rate: Annotated[
        str | None, typer.Option(help="Learning rate of the pushed fits, START,END.")
    ] = None
    beta2: Annotated[float | None, typer.Option(help="Adam's β₂.")] = None
    regularization: Annotated[
        float | None, typer.Option(help="λ of the pushed fits, used with both signs.")
    ] = None
    clamp: Annotated[
        float | None, typer.Option(help="Gate logits are clamped to ± this in the penalty.")
    ] = None
    max_grad_norm: Annotated[
        float | None, typer.Option(min=0, help="Gradients are clipped to this norm; 0 disables it.")
    ] = None
    patience: Annotated[
        int | None,
        typer.Option(min=1, help="Stop a fit when no gate crossed 0.5 in this number of updates."),
    ] = None
    replacement: Annotated[
        Replacement,
        typer.Option(help="What replaces a closed head: zero, or its mean output."),
    ] = Replacement.zero

    def method(self) -> ha.Gating:
        """The method with these settings."""
        names = (
            "steps", "pushed_steps", "batch_size", "beta2", "regularization", "clamp",
            "max_grad_norm", "patience",
        )  # fmt: skip
        changes: dict[str, Any] = {name: getattr(self, name) for name in names}
        for name in ("learning_rate", "pushed_learning_rate"):
            changes[name] = parse_learning_rate(getattr(self, name))
        changes = {name: value for name, value in changes.items() if value is not None}
        changes["replacement"] = self.replacement.value
        if self.max_grad_norm == 0:
            changes["max_grad_norm"] = None
        return ha.Gating.published(**changes) if self.schedule == "paper" else ha.Gating(**changes)


def gate(
    *,
    out: given.Out,
    task: given.TaskNames = None,
    seeds: given.Seeds = 10,
    threshold: Annotated[
        float, typer.Option(help="The score from which a head has a role, in what is printed.")
    ] = 0.5,
    baseline: given.Baseline = True,
    gating: GatingOptions,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Learn a gate on every head: which ones does a task need?

    Three fits per seed (free, pushed on, pushed off) give every head its facilitation F, its
    interference N and its irrelevance R. Writes a map per task, a ranked table of all heads, and
    the figure of what holds always (in every seed) and in any. Every finished seed is kept: running
    the same command again continues with the next one.

    \b
    Examples:
      headatlas gate --task math --task syntax --out atlas
      headatlas gate --model Qwen/Qwen3-0.6B --task my.jsonl --seeds 3 --out atlas
      headatlas gate --task antonym --schedule paper --out atlas
    """
    if not 0 < threshold < 1:
        raise ha.HeadAtlasError(f"--threshold must be between 0 and 1, not {threshold}.")
    names = list(dict.fromkeys(task or ["singular-plural"]))
    tasks = [files.load(name, model.download) for name in names]
    with model.atlas(out) as atlas:
        method = gating.method()
        maps = []
        for subject in tasks:
            try:
                maps.append(atlas.map(method, subject, seeds, baseline=baseline))
            except (ha.TaskError, ha.DivergedError) as error:
                if len(tasks) == 1:
                    raise
                note(f"{subject.name} gives no map: {error}")
        atlas.save_figures(*maps)
    finish(atlas, maps, threshold=threshold)
    if len(maps) < len(tasks):
        raise typer.Exit(2)


def parse_learning_rate(text: str | None) -> tuple[float, float] | None:
    """The two ends of a learning rate as the user writes them."""
    if text is None:
        return None
    try:
        start, end = (float(part) for part in text.split(","))
    except ValueError:
        raise ha.HeadAtlasError(
            f"'{text}' is not a learning rate: write START,END, such as 0.5,0.1."
        ) from None
    return start, end
