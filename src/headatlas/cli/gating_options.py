"""The settings of gating as options of a command."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer

import headatlas as ha


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
            help="Updates of each pushed fit and questions per update: quick (18 of 8, a first "
            "look), default (60 of 16), or paper (500 of 64, exactly the published one)."
        ),
    ] = Schedule.default
    steps: Annotated[
        int | None, typer.Option(min=1, help="Updates of each pushed fit (else the schedule's).")
    ] = None
    free_steps: Annotated[
        int | None,
        typer.Option(min=1, help="Updates of the free fit (default: 2/3 of --steps; paper: all)."),
    ] = None
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Questions per update (else the schedule's).")
    ] = None
    learning_rate: Annotated[
        str | None, typer.Option(help="Learning rate of the free fit, START,END: 0.1,0.01.")
    ] = None
    pushed_learning_rate: Annotated[
        str | None, typer.Option(help="Learning rate of the pushed fits, START,END.")
    ] = None
    beta2: Annotated[float | None, typer.Option(help="Adam's β₂.")] = None
    regularization: Annotated[
        float | None,
        typer.Option(help="λ of the pushed fits, used with both signs (default: 0.1)."),
    ] = None
    resolution: Annotated[
        float | None,
        typer.Option(help="Instead of λ: the effect that counts, in nats (λ × 4 / heads)."),
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
