"""How far maps agree."""

from __future__ import annotations

from math import nan, sqrt
from typing import TYPE_CHECKING

from headatlas.errors import PlotError
from headatlas.plots.captions import models_heading, title_of
from headatlas.plots.panels import grid, legend
from headatlas.plots.per_function import error_bars
from headatlas.stats.intervals import Change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from headatlas.maps import Comparison
    from headatlas.maps.comparison import AgreementRow

COLOURS = ("#0072b2", "#d55e00", "0.45", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Of the pairs of maps."""

BAND = 0.66
"""The part of a line's height that the pairs of maps share."""


def agreement(comparisons: Sequence[Comparison]) -> Figure:
    """Rank correlation of every pair of maps: over all heads, and within layers.

    A line per function, or per task where maps have no functions. Bars are 95 % intervals over
    layers (heads where there are few layers). Where the maps' reliabilities are known, a short
    upright line marks the ceiling: the correlation of maps that differ in noise alone.
    """
    rows = [(_line(one, row), row) for one in comparisons for row in one.rows]
    if not rows:
        raise PlotError("this comparison holds no pair of maps: there is nothing to draw.")
    lines = list(dict.fromkeys(line for line, _ in rows))
    pairs = list(dict.fromkeys(row.pair for _, row in rows))
    step = BAND / max(3, len(pairs))
    figure, axes = grid(1, 2, 2.4, 0.3 * len(lines), share=False, gap=(0.5, 0.5), left=1.9)
    titles = ("all heads", "within layers")
    for within, (panel, title) in enumerate(zip(axes[0], titles, strict=True)):
        for number, pair in enumerate(pairs):
            own = [(line, row) for line, row in rows if row.pair == pair]
            numbers = [_correlation(row, bool(within)) for _, row in own]
            offset = (number - (len(pairs) - 1) / 2) * step
            panel.errorbar(
                [correlation.mean for correlation in numbers],
                [lines.index(line) + offset for line, _ in own],
                xerr=error_bars(numbers),
                fmt="o",
                ms=3.5,
                lw=1,
                color=COLOURS[number % len(COLOURS)],
                label=" – ".join(pair),
            )
            ceilings = [_ceiling(row, bool(within)) for _, row in own]
            panel.plot(
                ceilings,
                [lines.index(line) + offset for line, _ in own],
                "|",
                ms=7,
                mew=1.2,
                color=COLOURS[number % len(COLOURS)],
            )
        panel.axvline(0, color="0.8", lw=0.7, zorder=0)
        panel.set_title(title, fontsize=9)
        panel.set_ylim(len(lines) - 0.5, -0.5)
        panel.set_xlabel("rank correlation (bars: 95 %; |: ceiling)", fontsize=8)
        panel.set_yticks(range(len(lines)), labels=[] if within else lines)
    handles, _ = axes[0][0].get_legend_handles_labels()
    legend(figure, handles, min(3, len(handles)))
    of_functions = [one.task for one in comparisons if any(row.function for row in one.rows)]
    tasks = dict.fromkeys(title_of(task) for task in of_functions)  # others label the lines
    models_heading(figure, (one.model for one in comparisons), *tasks)
    return figure


def _line(comparison: Comparison, row: AgreementRow) -> str:
    """What a row is labelled with."""
    return row.function or title_of(comparison.subject)


def _ceiling(row: AgreementRow, within: bool) -> float:
    one, other = row.within_reliability if within else row.reliability
    return sqrt(one * other) if one > 0 and other > 0 else nan


def _correlation(row: AgreementRow, within: bool) -> Change:
    if within:
        return Change(row.within, row.within_low, row.within_high)
    return Change(row.spearman, row.low, row.high)
