"""headatlas contrast"""

from __future__ import annotations

from enum import StrEnum
from math import isnan
from statistics import fmean
from typing import Annotated, Any

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.gating_options import parse_pair
from headatlas.cli.screen import say, stdout, table
from headatlas.cli.top import finish


class ContrastSchedule(StrEnum):
    """How long gates are learned."""

    default = "default"
    paper = "paper"


def contrast(
    *,
    out: given.Out,
    retain: Annotated[
        list[str] | None, typer.Option(help="Task and form to keep; may be repeated.")
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
    seeds: given.Seeds = 3,
    schedule: Annotated[
        ContrastSchedule, typer.Option(help="default, or paper (500 updates of 64).")
    ] = ContrastSchedule.default,
    steps: Annotated[int | None, typer.Option(min=1, help="Number of updates.")] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Questions per update and side.")
    ] = None,
    learning_rate: Annotated[
        str | None, typer.Option(help="Learning rate, START,END: 0.1,0.01.")
    ] = None,
    regularization: Annotated[
        float | None, typer.Option(help="λ, which pushes off the heads that neither side needs.")
    ] = None,
    margin: Annotated[
        float | None, typer.Option(help="Nats by which the forgotten side is to be less likely.")
    ] = None,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Learn gates that keep one form of a task and forget another.

    With nothing to retain or forget, the published experiment: ten demonstrations against an
    instruction with one, in both directions, over six word-pair tasks, each tested with gates
    learned from the other five.

    A pair holds if 95 % intervals show that the kept task keeps at least 60 % of its accuracy and
    that the forgotten one loses at least 80 %. It does not hold if they show the opposite of one.
    As a control, the gates are shuffled within every layer: where one of four such draws has as
    large a difference of kept and forgotten accuracy, a pair that would hold is inconclusive.

    \b
    Examples:
      headatlas contrast --retain antonym:instruction --forget antonym:icl --out contrasts
      headatlas contrast --out contrasts
    """
    if len(retain or ()) != len(forget or ()):
        raise ha.HeadAtlasError(
            f"every --retain needs a --forget: there are {len(retain or ())} and "
            f"{len(forget or ())}."
        )
    pairs = None
    if retain and forget:
        kept, lost = (
            [files.load(name, model.download) for name in names] for names in (retain, forget)
        )
        pairs = list(zip(kept, lost, strict=True))
    changes: dict[str, Any] = {
        "steps": steps,
        "batch_size": batch_size,
        "learning_rate": parse_pair("learning_rate", learning_rate),
        "regularization": regularization,
        "margin": margin,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    with model.atlas(out) as atlas:
        method = ha.Contrast.published(**changes) if schedule == "paper" else ha.Contrast(**changes)
        result = atlas.contrast(pairs, method, seeds, leave_one_out=leave_one_out or None)
        maps = [atlas.load(name) for name in result.maps]
        atlas.save_figures(result)
    show_contrasts(result)
    finish(atlas, maps if len(maps) == 1 else [])


def show_contrasts(result: ha.ContrastCheck) -> None:
    """Print accuracies before and after, and under shuffled gates."""
    say("accuracy on test questions, before → after; verdicts from 95 % intervals")
    if draws := max((len(pair.retain_shuffled) for pair in result.contrasts), default=0):
        say(f"shuffled: the gates shuffled within layers, mean and range of {draws} draws")
    shown = table(
        "keep", "forget", "kept", "forgotten", "verdict", left=("keep", "forget", "verdict")
    )
    for column in shown.columns[:2]:
        column.no_wrap, column.overflow = False, "fold"
    for pair in result.contrasts:
        shown.add_row(
            pair.retain,
            pair.forget,
            _change(pair.retain_before, pair.retain_after, pair.retain_after_interval)
            + _shuffled(pair.retain_shuffled),
            _change(pair.forget_before, pair.forget_after, pair.forget_after_interval)
            + _shuffled(pair.forget_shuffled),
            pair.verdict,
        )
    stdout.print(shown)
    for line in result.summary():
        say(line)
    if any(pair.seeds == 1 for pair in result.contrasts):
        say("one seed: the verdicts are about its gates alone, not about what other seeds find")


def _change(before: float, after: float, interval: tuple[float, float]) -> str:
    if isnan(after):  # the model cannot do it, and no gates were learned
        return f"{before:.0%}"
    low, high = (100 * bound for bound in interval)
    return f"{before:.0%} → {after:.0%} ({low:.0f}–{high:.0f})"


def _shuffled(accuracies: tuple[float, ...]) -> str:
    """A second line of the cell: mean and range of the draws."""
    if not accuracies:
        return ""
    low, high = 100 * min(accuracies), 100 * max(accuracies)
    return f"\nshuffled {fmean(accuracies):.0%} ({low:.0f}–{high:.0f})"
