"""Accuracy before and after contrastive gating."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from matplotlib.lines import Line2D

from headatlas.errors import PlotError
from headatlas.plots.captions import count_text, models_heading, title_of
from headatlas.plots.panels import grid, legend, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headatlas.checks.results import ContrastCheck, Contrasted
    from headatlas.stats.paired_shares import Interval

SIDES = {"retained": (-0.2, "#0072b2"), "forgotten": (0.2, "#d55e00")}
"""Where the bars of a side stand beside a pair's place, and their colour."""

SHUFFLED = "0.5"
TICKS = 2.1
"""Where the ticks of shuffled gates stand, as a multiple of where the bars do: outside of them."""


class Accuracy(NamedTuple):
    """One side of a pair: accuracy of the untouched model, under the gates and shuffled ones."""

    before: float
    after: float
    interval: Interval
    shuffled: tuple[float, ...]


def contrast(checks: Sequence[ContrastCheck]) -> Figure:
    """Accuracy on retained and forgotten tasks under contrastive gates and without them.

    Pale bars are the untouched model; full bars are under the gates, with 95 % intervals; ticks
    beside them are draws of gates shuffled within layers. Pairs that keep the same form share a
    panel.
    """
    panels: dict[str, list[Contrasted]] = {}
    for pair in (pair for check in checks for pair in check.contrasts):
        keeps, loses = _form(pair.retain), _form(pair.forget)
        title = f"keep {keeps}, forget {loses}" if keeps and loses else "keep one, forget the other"
        panels.setdefault(title, []).append(pair)
    if not panels:
        raise PlotError("this contrast check holds no pair of tasks: there is nothing to draw.")
    most = max(len(pairs) for pairs in panels.values())
    figure, axes = grid(
        len(panels), 1, max(2.5, 0.95 * most), 1.7, share=False, gap=(0.3, 0.75), below=0.85
    )
    for (panel,), (title, pairs) in zip(axes, panels.items(), strict=True):
        _draw_bars(panel, pairs)
        panel.set_xticks(range(len(pairs)), [_label(pair) for pair in pairs], fontsize=7)
        panel.set_ylim(0, 1)
        panel.set_ylabel("accuracy")
        strip(panel, title)
    bar = Line2D([], [], color="black", lw=0.8, marker="|", ls="", ms=9, label="95 % interval")
    pairs = [pair for check in checks for pair in check.contrasts]
    handles = [*axes[0][0].get_legend_handles_labels()[0], bar]
    if any(pair.retain_shuffled for pair in pairs):
        words = "gates shuffled within layers"
        handles.append(
            Line2D([], [], color=SHUFFLED, marker="_", ls="", ms=5, mew=1.5, label=words)
        )
    legend(figure, handles, 2)
    models_heading(
        figure,
        (check.model for check in checks),
        count_text((pair.seeds for pair in pairs if pair.seeds), "seed"),
        count_text((pair.questions for pair in pairs), "test question"),
    )
    return figure


def _draw_bars(panel: Axes, pairs: Sequence[Contrasted]) -> None:
    for side, (offset, colour) in SIDES.items():
        places = np.arange(len(pairs)) + offset
        numbers = [_accuracies(pair)[side] for pair in pairs]
        before = [accuracy.before for accuracy in numbers]
        after = [accuracy.after for accuracy in numbers]
        panel.bar(places, before, 0.36, color=colour, alpha=0.25)
        panel.bar(places, after, 0.26, color=colour, label=f"{side} (pale: untouched)")
        bounds = np.array([accuracy.interval for accuracy in numbers]).T
        panel.vlines(places, *bounds, color="black", linewidth=0.8)
        for number, accuracy in enumerate(numbers):
            if not accuracy.shuffled:
                continue
            ticks = [number + TICKS * offset] * len(accuracy.shuffled)
            # above the axis, which would hide draws that answer nothing
            panel.plot(
                ticks,
                accuracy.shuffled,
                "_",
                color=SHUFFLED,
                ms=5,
                mew=1.5,
                clip_on=False,
                zorder=3,
            )


def _accuracies(pair: Contrasted) -> dict[str, Accuracy]:
    return {
        "retained": Accuracy(
            pair.retain_before,
            pair.retain_after,
            pair.retain_after_interval,
            pair.retain_shuffled,
        ),
        "forgotten": Accuracy(
            pair.forget_before,
            pair.forget_after,
            pair.forget_after_interval,
            pair.forget_shuffled,
        ),
    }


def _form(name: str) -> str:
    return name.partition(":")[2]


def _label(pair: Contrasted) -> str:
    """The task that both sides are forms of, or both tasks."""
    kept, lost = (name.partition(":")[0] for name in (pair.retain, pair.forget))
    name = title_of(kept)
    return name.replace("-", "-\n", 1) if kept == lost else f"{name}\nnot {title_of(lost)}"
