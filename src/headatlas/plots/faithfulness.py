"""What is left of a task as heads are removed in the order of maps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from headatlas.errors import PlotError
from headatlas.plots.captions import count_text, models_heading, title_of
from headatlas.plots.panels import grid, legend, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headatlas.checks.results.faithfulness import Faithfulness, RemovalCurve

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "0.3", "#8c564b")
BAND = "0.85"
TICKS = {0.001: "0.1", 0.01: "1", 0.1: "10", 0.2: "20", 0.5: "50", 1.0: "100"}
PANELS = {"keep": "only these heads kept", "remove": "these heads removed"}
LOWEST, HIGHEST = -0.6, 1.6
"""The part of the faithfulness that is always shown; far values are cut off at the frame."""


def faithfulness(checks: Sequence[Faithfulness]) -> Figure:
    """Faithfulness over the share of heads kept, and removed: a row per task, a line per map.

    0 is the model with every head replaced, 1 the whole model. Bars are intervals over questions
    and prompts. The grey band reaches from the lowest to the highest order shuffled within layers,
    of all maps of the row. There is no line where the model is not shown to need its heads.
    """
    rows: dict[tuple[str, ...], list[Faithfulness]] = {}
    for check in checks:
        rows.setdefault((check.about.task, check.replacement, check.measure), []).append(check)
    methods = list(dict.fromkeys(check.method for check in checks))
    if len(methods) > len(COLOURS):
        raise PlotError(
            f"faithfulness shows up to {len(COLOURS)} methods, not {len(methods)}: choose some."
        )
    figure, axes = grid(len(rows), 2, 2.9, 2.0, share=False, gap=(0.75, 0.85), below=0.75)
    for panels, own in zip(axes, rows.values(), strict=True):
        for panel, name in zip(panels, PANELS, strict=True):
            strip(panel, f"{title_of(own[0].about.task)}: {PANELS[name]}")
            curves = [getattr(check, name) for check in own]
            _draw_band(panel, curves)
            for check, curve in zip(own, curves, strict=True):
                _draw_curve(panel, curve, COLOURS[methods.index(check.method)])
            panel.set_ylabel("faithfulness")
            panel.set_xlabel("heads (% of all, most important first)")
    handles = [
        Line2D([], [], color=colour, marker="o", ms=3, label=method)
        for method, colour in zip(methods, COLOURS, strict=False)
    ]
    legend(figure, [*handles, Patch(color=BAND, label="shuffled within layers")], 3)
    words = dict.fromkeys(f"replaced by {check.replacement}, {check.measure}" for check in checks)
    models_heading(
        figure,
        (check.about.model for check in checks),
        count_text((check.questions for check in checks), "test question")
        + f", {'; '.join(words)}",
    )
    return figure


def _draw_band(panel: Axes, curves: list[RemovalCurve]) -> None:
    shares = np.array(curves[0].shares)
    controls = np.concatenate([np.array(curve.controls, float) for curve in curves])
    panel.fill_between(shares, controls.min(0), controls.max(0), color=BAND, lw=0, zorder=0)


def _draw_curve(panel: Axes, curve: RemovalCurve, colour: str) -> None:
    shares = np.array(curve.shares)
    values = np.array([[point.mean, point.low, point.high] for point in curve.value]).T
    panel.plot(shares, values[0], "o-", color=colour, ms=2.5, lw=1.2)
    panel.vlines(shares, values[1], values[2], color=colour, lw=0.7, alpha=0.7)
    for level in (0, 1):
        panel.axhline(level, color="0.6", lw=0.6, zorder=0)
    panel.set_xscale("log")
    panel.set_xticks(list(TICKS), labels=list(TICKS.values()))
    panel.minorticks_off()
    finite = values[0][np.isfinite(values[0])]
    low, high = finite.min(initial=LOWEST), finite.max(initial=HIGHEST)
    known = panel.get_ylim() if len(panel.lines) > 3 else (LOWEST, HIGHEST)
    panel.set_ylim(min(known[0], max(low, -2.0) - 0.1), max(known[1], min(high, 3.0) + 0.1))
