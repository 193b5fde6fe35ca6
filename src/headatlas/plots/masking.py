"""What masking a function's heads does to the function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.patches import Rectangle

from headatlas.plots.captions import check_heading
from headatlas.plots.function_rows import OWN, change_bars, function_rows, level_text
from headatlas.plots.panels import legend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from headatlas.checks.results import FunctionCheck

RANDOM, BAND, SHUFFLED = "0.45", "0.88", "#d55e00"
HEIGHT = 0.6
"""Height of a band, where rows are 1 apart."""


def masking(checks: Sequence[FunctionCheck]) -> Figure:
    """Change of log P when a function's heads are masked, and of draws of random heads.

    A row per function, with the number of heads. The band holds all draws of random heads, a tick
    each; the bar is the interval of the difference from random heads.
    """
    (check,) = checks
    labels = [f"{row.function} ({row.heads})" for row in check.masking]
    figure, panel = function_rows(labels, "masking")
    for place, row in enumerate(check.masking):
        low, high = min(row.controls), max(row.controls)
        corner = (low, place - HEIGHT / 2)
        panel.add_patch(Rectangle(corner, high - low, HEIGHT, facecolor=BAND, zorder=1))
        panel.plot(row.controls, [place] * len(row.controls), "|", color=RANDOM, ms=9, zorder=2)
        own = row.control + row.difference.mean
        change_bars(panel, own, place, row.difference, color=OWN, fmt="o")
        if row.shuffled is not None:
            panel.plot([row.shuffled], [place], "D", color=SHUFFLED, ms=4, zorder=3)
    handles = [
        *panel.plot([], [], "|", color=RANDOM, ms=9, label=f"random heads ({check.draws} draws)"),
        *panel.plot(
            [],
            [],
            "o-",
            color=OWN,
            ms=4,
            label=f"own heads; bar: {level_text(check)} of own minus random",
        ),
    ]
    if any(row.shuffled is not None for row in check.masking):
        words = "heads of shuffled labels"
        handles += panel.plot([], [], "D", color=SHUFFLED, ms=4, label=words)
    legend(figure, handles, len(handles))
    check_heading(figure, check)
    return figure
