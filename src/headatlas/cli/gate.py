"""headatlas gate"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.screen import note
from headatlas.cli.top import finish

SEEDS = 10
"""Seeds by default."""


class Schedule(StrEnum):
    """How long gates are learned."""

    quick = "quick"
    default = "default"
    paper = "paper"


class Replacement(StrEnum):
    """What takes the place of a closed head."""

    zero = "zero"
    mean = "mean"


class Varied(StrEnum):
    """What differs between seeds."""

    both = "both"
    start = "start"
    data = "data"


@dataclass(frozen=True)
class GatingOptions:
    """The settings of gating; what is not given comes from the schedule."""

    schedule: Annotated[
        Schedule,
        typer.Option(
            help="quick (a first look), default, or paper: exactly the published one, much longer."
        ),
    ] = Schedule.default
    steps: Annotated[int | None, typer.Option(min=1, help="Updates of each pushed fit.")] = None
    free_steps: Annotated[
        int | None,
        typer.Option(min=1, help="Updates of the free fit (default: 2/3 of --steps; paper: all)."),
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
    resolution: Annotated[
        float | None,
        typer.Option(help="The effect that counts, in nats; sets λ to this × heads / 4."),
    ] = None
    annealing: Annotated[
        str | None, typer.Option(help="How many times λ the fits of G⁺ and G⁻ begin with: 3,10.")
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
    varied: Annotated[
        Varied, typer.Option(help="What differs between seeds: both, only the start, or the data.")
    ] = Varied.both

    def method(self) -> ha.Gating:
        """The method with these settings."""
        if self.regularization is not None and self.resolution is not None:
            two = f"--regularization ({self.regularization}) and --resolution ({self.resolution})"
            raise ha.HeadAtlasError(f"{two} both set λ: give one of them.")
        names = (
            "steps", "free_steps", "batch_size", "beta2", "regularization", "resolution",
            "clamp", "max_grad_norm", "patience",
        )  # fmt: skip
        changes: dict[str, Any] = {name: getattr(self, name) for name in names}
        for name in ("learning_rate", "pushed_learning_rate", "annealing"):
            changes[name] = parse_pair(name, getattr(self, name))
        changes = {name: value for name, value in changes.items() if value is not None}
        changes |= {"replacement": self.replacement.value, "varied": self.varied.value}
        if self.max_grad_norm == 0:
            changes["max_grad_norm"] = None
        if self.schedule == "paper":
            return ha.Gating.published(**changes)
        return ha.Gating.quick(**changes) if self.schedule == "quick" else ha.Gating(**changes)


def gate(
    *,
    out: given.Out,
    task: given.TaskNames = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Number of seeds (default: 10; at most 40 with --until-stable)."),
    ] = None,
    until_stable: Annotated[
        float | None,
        typer.Option(help="Add seeds until the mean map has this reliability, such as 0.9."),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Time per task: start no seed that would end later (90s, 10m, 1h30m)."),
    ] = None,
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
    the figure of what holds always (in every seed) and in any, with how far the map reproduces
    between seeds. Every finished seed is kept: running the same command again continues with the
    next one.

    \b
    Examples:
      headatlas gate --task math --task syntax --out atlas
      headatlas gate --model Qwen/Qwen3-0.6B --task my.jsonl --seeds 3 --out atlas
      headatlas gate --task antonym --until-stable 0.9 --time 1h --out atlas
      headatlas gate --task antonym --schedule paper --out atlas
    """
    if not 0 < threshold < 1:
        raise ha.HeadAtlasError(f"--threshold must be between 0 and 1, not {threshold}.")
    most = seeds or (SEEDS if until_stable is None else None)
    limits = {"until_stable": until_stable, "seconds": None if time is None else parse_time(time)}
    names = list(dict.fromkeys(task or ["singular-plural"]))
    tasks = [files.load(name, model.download) for name in names]
    with model.atlas(out) as atlas:
        method = gating.method()
        maps = []
        for subject in tasks:
            try:
                maps.append(atlas.map(method, subject, most, baseline=baseline, **limits))
            except (ha.TaskError, ha.DivergedError) as error:
                if len(tasks) == 1:
                    raise
                note(f"{subject.name} gives no map: {error}")
        atlas.save_figures(*maps)
    finish(atlas, maps, threshold=threshold)
    if len(maps) < len(tasks):
        raise typer.Exit(2)


def parse_time(text: str) -> float:
    """A time as the user writes it, in seconds.

    >>> parse_time("1h30m"), parse_time("90s"), parse_time("10m")
    (5400.0, 90.0, 600.0)
    """
    match = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text.strip())
    hours, minutes, seconds = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    if not (total := 3600.0 * hours + 60 * minutes + seconds):
        raise ha.HeadAtlasError(f"'{text}' is not a time: write 90s, 10m or 1h30m.")
    return total


def parse_pair(name: str, text: str | None) -> tuple[float, float] | None:
    """Two numbers as the user writes them for a setting: the ends of a learning rate, for one."""
    if text is None:
        return None
    try:
        one, other = (float(part) for part in text.split(","))
    except ValueError:
        raise ha.HeadAtlasError(
            f"--{name.replace('_', '-')} is two numbers, such as 0.5,0.1, not '{text}'."
        ) from None
    return one, other
