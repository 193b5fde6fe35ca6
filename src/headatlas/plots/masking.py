"""What masking a function's heads does to the function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.ticker import MaxNLocator

from headatlas.plots.captions import check_heading
from headatlas.plots.panels import legend
from headatlas.plots.per_function import error_bars, function_panels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from headatlas.checks.results import FunctionCheck

CHOSEN, RANDOM = "#0072b2", "0.55"


def masking(checks: Sequence[FunctionCheck]) -> Figure:
    """Change of log P when a function's heads are masked, beside random heads.

    A panel per function, over the number of heads. Bars are 95 % intervals of the difference from
    random heads.
    """
    (check,) = checks
    names = (row.function for row in check.masking)
    figure, panels = function_panels(names, "heads masked", "masking")
    for name, panel in panels.items():
        rows = [row for row in check.masking if row.function == name]
        heads = [row.heads for row in rows]
        control = [row.control for row in rows]
        panel.plot(heads, control, "s--", color=RANDOM, ms=4, lw=1, label="random heads")
        panel.errorbar(
            heads,
            [row.control + row.difference.mean for row in rows],
            yerr=error_bars([row.difference for row in rows]),
            fmt="o-",
            color=CHOSEN,
            ms=4,
            lw=1.2,
            label="the function's heads (bars: 95 % of the difference)",
        )
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    handles, _ = next(iter(panels.values())).get_legend_handles_labels()
    legend(figure, handles, len(handles))
    check_heading(figure, check)
    return figure
