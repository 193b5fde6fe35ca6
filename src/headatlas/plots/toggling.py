"""The curves of ordered toggling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter

from headatlas.checks.results.about import percent
from headatlas.plots.captions import count_text, models_heading, title_of, warn
from headatlas.plots.panels import grid, legend, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headatlas.checks.results import GatingCheck
    from headatlas.checks.results.gating import Curve

COLOURS = {"facilitation": "#0072b2", "interference": "#d55e00", "irrelevance": "0.45"}
BAND, BOUND = "0.88", "#009e73"

FEW = 20
"""Up to here powers of ten alone would be too few ticks."""


def toggling(checks: Sequence[GatingCheck]) -> Figure:
    """Change of log P over the number of heads toggled: a row per task, a panel per score.

    Thin lines are seeds, the thick one is their mean. The band reaches from the lowest to the
    highest draw of matched random heads, and the dashed line is their mean. The dot with its bar is
    the change at the number of heads where the verdict is read, with its interval; for irrelevance,
    green lines are the bound up to which a change is harmless.
    """
    figure, axes = grid(len(checks), 3, 2.3, 1.8, share=False, gap=(0.95, 0.75), below=0.75)
    for row, check in zip(axes, checks, strict=True):
        for panel, curve in zip(row, check.toggling.curves, strict=True):
            strip(panel, f"{title_of(check.about.task)}: {curve.score}")
            if not curve.heads:
                _leave_empty(panel, curve)
                continue
            _draw_curve(panel, curve)
            if curve.score == "irrelevance":
                for edge in (-check.toggling.bound, check.toggling.bound):
                    panel.axhline(edge, color=BOUND, lw=1, ls=(0, (4, 2)))
            panel.set_ylabel("log P, off − on (nats)")
            panel.set_xlabel("heads toggled, in order")
    _explain(figure, checks)
    results = [check.toggling for check in checks]
    models_heading(
        figure,
        (check.about.model for check in checks),
        count_text((result.seeds for result in results), "seed")
        + f"\neach seed: {count_text((result.questions for result in results), 'test question')}"
        + " after "
        + count_text((result.prefixes for result in results), "few-shot prompt")
        + f", {count_text((result.draws for result in results), 'draw')} of random heads",
    )
    for check in checks:
        for warning in check.warnings:
            warn(figure, f"{title_of(check.about.task)}: {warning}")
    return figure


def _draw_curve(panel: Axes, curve: Curve) -> None:
    colour = COLOURS[curve.score]
    heads, lines = np.array(curve.heads), np.array(curve.change, float)  # lines: seed point
    controls = np.array(curve.controls, float)  # draw point
    panel.fill_between(heads, controls.min(0), controls.max(0), color=BAND, lw=0, zorder=0)
    panel.plot(heads, controls.mean(0), color="0.55", lw=1.2, ls="--")
    panel.plot(heads, lines.T, color=colour, alpha=0.3, lw=0.7)
    panel.plot(heads, lines.mean(0), color=colour, lw=2)
    panel.axhline(0, color="0.6", lw=0.7, zorder=0)
    own = curve.own
    bars = np.nan_to_num([[own.mean - own.low], [own.high - own.mean]])
    panel.errorbar(curve.toggled, own.mean, yerr=bars, fmt="o", color="black", ms=4, lw=1.2)
    panel.set_xscale("log")
    few = heads[-1] < FEW
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,)))
    panel.xaxis.set_major_formatter("{x:.0f}")
    panel.xaxis.set_minor_formatter(NullFormatter())
    panel.margins(y=0.12)


def _leave_empty(panel: Axes, curve: Curve) -> None:
    words = "no other heads to compare with" if curve.count else "no head has this role"
    panel.text(0.5, 0.5, words, ha="center", transform=panel.transAxes)
    panel.set_xticks([])
    panel.set_yticks([])


def _explain(figure: Figure, checks: Sequence[GatingCheck]) -> None:
    """What lines, band and dots are, if there are any."""
    curves = [curve for check in checks for curve in check.toggling.curves if curve.heads]
    if not curves:
        return
    levels = {percent(check.toggling.level) for check in checks}
    interval = f"{', '.join(sorted(levels))} interval"
    handles = [
        Line2D([], [], color="0.4", alpha=0.6, lw=0.7, label="seeds"),
        Line2D([], [], color="0.4", lw=2, label="mean over seeds"),
        Line2D([], [], color="black", marker="o", ms=4, label=f"at the verdict, {interval}"),
        Patch(color=BAND, label="random heads, all draws"),
        Line2D([], [], color="0.55", lw=1.2, ls="--", label="their mean"),
        Line2D([], [], color=BOUND, lw=1, ls=(0, (4, 2)), label="harmless (irrelevance)"),
    ]
    legend(figure, handles, 3)
