"""What pushing a function's heads along its direction does to the function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.plots.captions import check_heading
from headatlas.plots.function_rows import OWN, change_bars, function_rows, level_text
from headatlas.plots.panels import legend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from headatlas.checks.results import FunctionCheck

RANDOM, OTHERS = "0.45", "#d55e00"


def strengthening(checks: Sequence[FunctionCheck]) -> Figure:
    """Change of log P when a function's heads are pushed along its direction, and by other pushes.

    A row per function, with the number of heads. Bars are intervals over questions; the other
    pushes are as large, along random directions and along other functions' directions.
    """
    (check,) = checks
    rows = check.strengthening.rows
    labels = [f"{row.function} ({row.heads})" for row in rows]
    figure, panel = function_rows(labels, "strengthening")
    for place, row in enumerate(rows):
        own = row.change.mean
        change_bars(panel, own, place, row.change, color=OWN, fmt="o")
        panel.plot([own - row.over_random.mean], [place], "s", color=RANDOM, ms=4, zorder=3)
        if row.over_others is not None:
            panel.plot([own - row.over_others.mean], [place], "D", color=OTHERS, ms=4, zorder=3)
    handles = [
        *panel.plot([], [], "o-", color=OWN, ms=4, label=f"own direction, {level_text(check)}"),
        *panel.plot([], [], "s", color=RANDOM, ms=4, label="random directions"),
        *panel.plot([], [], "D", color=OTHERS, ms=4, label="other functions' directions"),
    ]
    legend(figure, handles, len(handles))
    check_heading(figure, check, f"strength {check.strengthening.strength:g}")
    return figure
