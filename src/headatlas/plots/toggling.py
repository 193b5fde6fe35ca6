"""The curves of ordered toggling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headatlas.plots.panels import grid, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headatlas.checks.results import GatingCheck
    from headatlas.checks.results.gating import Curve

COLOURS = {"facilitation": "#0072b2", "interference": "#d55e00", "irrelevance": "0.45"}


def toggling(checks: Sequence[GatingCheck]) -> Figure:
    """Change of log P over the number of heads toggled: a row per task, a panel per score.

    Thin lines are seeds, the thick one is their mean, the dot with its bar is the change with all
    heads of that role, and its 95 % interval. Lines end there: the heads that follow in the order
    have other roles. Irrelevance has the scale of facilitation, interference its own.
    """
    figure, axes = grid(len(checks), 3, 2.3, 1.8, share=False, gap=(0.55, 0.75), below=0.55)
    for row, check in zip(axes, checks, strict=True):
        for panel, curve in zip(row, check.toggling.curves, strict=True):
            _draw_curve(panel, curve)
            strip(panel, f"{check.about.task}: {curve.score}")
        row[2].sharey(row[0])  # flat is what is flat beside facilitation
        row[0].autoscale(axis="y")
        row[0].set_ylabel("log P, off − on (nats)")
    for panel in axes[-1]:
        panel.set_xlabel("heads toggled, in order")
    return figure


def _draw_curve(panel: Axes, curve: Curve) -> None:
    colour = COLOURS[curve.score]
    heads, lines = np.array(curve.heads), np.array(curve.change, float)  # lines: seed point
    own = heads <= max(curve.count, heads[0])
    heads, lines = heads[own], lines[:, own]
    panel.plot(heads, lines.T, color=colour, alpha=0.3, lw=0.7)
    panel.plot(heads, lines.mean(0), color=colour, lw=2)
    panel.axhline(0, color="0.6", lw=0.7, zorder=0)
    if curve.count >= 1:
        last = [heads[-1], curve.count], [lines[:, -1].mean(), curve.end]
        panel.plot(*last, color=colour, lw=2, ls=":")
        bars = [[curve.end - curve.low], [curve.high - curve.end]]
        panel.errorbar(curve.count, curve.end, yerr=bars, fmt="o", color="black", ms=4, lw=1.2)
    else:
        panel.text(0.5, 0.5, "no head has this role", ha="center", transform=panel.transAxes)
    panel.set_xscale("log")
    panel.xaxis.set_major_formatter("{x:.0f}")
    panel.margins(y=0.12)
