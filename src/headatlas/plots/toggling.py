"""The curves of ordered toggling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from headatlas.plots.captions import count_text, models_heading, title_of
from headatlas.plots.panels import grid, legend, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headatlas.checks.results import GatingCheck
    from headatlas.checks.results.gating import Curve

COLOURS = {"facilitation": "#0072b2", "interference": "#d55e00", "irrelevance": "0.45"}


FEW = 20
"""Up to here powers of ten alone would be too few ticks."""

END = "all heads of the role, 95 % interval"


def toggling(checks: Sequence[GatingCheck]) -> Figure:
    """Change of log P over the number of heads toggled: a row per task, a panel per score.

    Thin lines are seeds, the thick one is their mean, the dot with its bar is the change with all
    heads of that role, and its 95 % interval. Lines end there: the heads that follow in the order
    have other roles. Irrelevance has the scale of facilitation, interference its own.
    """
    figure, axes = grid(len(checks), 3, 2.3, 1.8, share=False, gap=(0.95, 0.75), below=0.75)
    for row, check in zip(axes, checks, strict=True):
        curves = check.toggling.curves
        for panel, curve in zip(row, curves, strict=True):
            strip(panel, f"{title_of(check.about.task)}: {curve.score}")
            if curve.count < 1:
                _leave_empty(panel)
                continue
            _draw_curve(panel, curve)
            panel.set_ylabel("log P, off − on (nats)")
            panel.set_xlabel("heads toggled, in order")
        if min(curves[0].count, curves[2].count) >= 1:
            row[2].sharey(row[0])  # flat is what is flat beside facilitation
            row[0].autoscale(axis="y")
    _explain(figure, [panel for row in axes for panel in row])
    models_heading(
        figure,
        (check.about.model for check in checks),
        count_text((check.toggling.seeds for check in checks), "seed"),
        count_text((check.toggling.questions for check in checks), "test question"),
    )
    return figure


def _draw_curve(panel: Axes, curve: Curve) -> None:
    colour = COLOURS[curve.score]
    heads, lines = np.array(curve.heads), np.array(curve.change, float)  # lines: seed point
    own = heads <= max(curve.count, heads[0])
    heads, lines = heads[own], lines[:, own]
    panel.plot(heads, lines.T, color=colour, alpha=0.3, lw=0.7)
    panel.plot(heads, lines.mean(0), color=colour, lw=2)
    panel.axhline(0, color="0.6", lw=0.7, zorder=0)
    last = [heads[-1], curve.count], [lines[:, -1].mean(), curve.end]
    panel.plot(*last, color=colour, lw=2, ls=":")
    bars = [[curve.end - curve.low], [curve.high - curve.end]]
    panel.errorbar(
        curve.count, curve.end, yerr=bars, fmt="o", color="black", ms=4, lw=1.2, label=END
    )
    panel.set_xscale("log")
    few = curve.count < FEW
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    panel.xaxis.set_major_formatter("{x:.0f}")
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.margins(y=0.12)


def _leave_empty(panel: Axes) -> None:
    panel.text(0.5, 0.5, "no head has this role", ha="center", transform=panel.transAxes)
    panel.set_xticks([])
    panel.set_yticks([])


def _explain(figure: Figure, panels: Sequence[Axes]) -> None:
    """What lines and dots are, if there are any."""
    dots = [handle for panel in panels for handle in panel.get_legend_handles_labels()[0]]
    if dots:
        seeds = Line2D([], [], color="0.4", alpha=0.6, lw=0.7, label="seeds")
        mean = Line2D([], [], color="0.4", lw=2, label="mean over seeds")
        legend(figure, [seeds, mean, dots[0]], 3)
