"""What figures with a row for every function share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.plots.panels import grid
from headatlas.plots.per_function import CHANGE, error_bars, require_functions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headatlas.checks.results import FunctionCheck
    from headatlas.stats.intervals import Change

OWN = "#0072b2"
ROW = 0.3
"""Height of a row, in inches."""


def function_rows(labels: Sequence[str], figure: str) -> tuple[Figure, Axes]:
    """A panel with a row for every label, the first at the top, over the change of log P."""
    require_functions(labels, figure)
    height = ROW * max(len(labels), 2)
    made, axes = grid(1, 1, 4.2, height, left=2.1, below=0.85)
    panel = axes[0][0]
    panel.set_yticks(range(len(labels)), labels=labels, fontsize=8)
    panel.set_ylim(len(labels) - 0.4, -0.6)
    panel.axvline(0, color="0.8", lw=0.7, zorder=0)
    panel.tick_params(labelsize=8)
    panel.set_xlabel(CHANGE, fontsize=8)
    return made, panel


def change_bars(
    panel: Axes, x: float, place: float, change: Change, *, color: str, fmt: str
) -> None:
    """A point with the interval of a change around it."""
    bars = error_bars([change])
    panel.errorbar([x], [place], xerr=bars, fmt=fmt, color=color, ms=4, lw=1.2, zorder=4)


def level_text(check: FunctionCheck) -> str:
    """How sure the intervals of a check are: "95 % interval"."""
    return f"{100 * check.level:g} % interval"
