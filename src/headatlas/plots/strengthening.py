"""What pushing a function's heads along its direction does to the function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.plots.captions import check_heading
from headatlas.plots.per_function import error_bars, function_panels
from headatlas.stats.intervals import Change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from headatlas.checks.results import FunctionCheck

COLOUR = "#0072b2"
UNTOUCHED = (0.0, Change(0.0, 0.0, 0.0))
"""Heads that are not pushed change nothing."""


def strengthening(checks: Sequence[FunctionCheck]) -> Figure:
    """Change of log P when a function's heads are pushed along its direction, by strength.

    A panel per function; bars are 95 % intervals.
    """
    (check,) = checks
    names = (row.function for row in check.strengthening)
    figure, panels = function_panels(names, "strength", "strengthening")
    for name, panel in panels.items():
        rows = [(row.strength, row.change) for row in check.strengthening if row.function == name]
        rows = sorted([*rows, UNTOUCHED], key=lambda row: row[0])
        panel.errorbar(
            [strength for strength, _ in rows],
            [change.mean for _, change in rows],
            yerr=error_bars([change for _, change in rows]),
            fmt="o-",
            color=COLOUR,
            ms=4,
            lw=1.2,
        )
        panel.axvline(0, color="0.8", lw=0.7, zorder=0)
    check_heading(figure, check)
    return figure
