"""Small panels, one a function, for the checks of a map of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.errors import PlotError
from headatlas.plots.panels import grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headatlas.stats.intervals import Change

COLUMNS = 4
CHANGE = "change of log P (nats)"


def function_panels(
    functions: Iterable[str], x: str, figure: str
) -> tuple[Figure, dict[str, Axes]]:
    """A panel for every function that is named, by its name; `x` labels the horizontal axes."""
    names = list(dict.fromkeys(functions))
    require_functions(names, figure)
    columns = min(COLUMNS, len(names))
    rows = -(-len(names) // columns)
    made, axes = grid(rows, columns, 1.7, 1.3, share=False, gap=(0.5, 0.6), below=0.85)
    flat = [panel for row in axes for panel in row]
    for number, panel in enumerate(flat):
        if number >= len(names):
            panel.set_visible(False)
            continue
        panel.axhline(0, color="0.8", lw=0.7, zorder=0)
        panel.set_title(names[number], fontsize=9)
        panel.tick_params(labelsize=7)
        if number % columns == 0:
            panel.set_ylabel(CHANGE, fontsize=8)
        if number + columns >= len(names):
            panel.set_xlabel(x, fontsize=8)
    return made, dict(zip(names, flat, strict=False))


def require_functions(names: Sequence[str], figure: str) -> None:
    """Raise if a check holds nothing that the figure could show."""
    if not names:
        raise PlotError(
            f"this function check holds no numbers for the figure {figure}: check the map again."
        )


def error_bars(changes: Sequence[Change]) -> list[list[float]]:
    """How far the 95 % intervals reach below and above the means, as `errorbar` takes it."""
    return [
        [change.mean - change.low for change in changes],
        [change.high - change.mean for change in changes],
    ]
