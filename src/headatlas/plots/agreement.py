"""How far kinds of map agree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headatlas.plots.panels import grid, legend

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "0.45")


def agreement_figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Rank correlation of every pair of kinds for every function, with 95 % intervals over heads:
    of all heads, and within layers."""
    names = list(dict.fromkeys(str(row["function"]) for row in rows))
    pairs = list(dict.fromkeys(" – ".join(row["pair"]) for row in rows))
    height = 0.3 * len(names)
    figure, axes = grid(1, 2, 2.4, height, share=False, left=1.9, below=0.85)
    for panel, key, title in (
        (axes[0][0], "", "all heads"),
        (axes[0][1], "within", "within layers"),
    ):
        for number, pair in enumerate(pairs):
            own = [row for row in rows if " – ".join(row["pair"]) == pair]
            middle = [row[key or "spearman"] for row in own]
            low = [row[f"{key}_low" if key else "low"] for row in own]
            high = [row[f"{key}_high" if key else "high"] for row in own]
            at = [names.index(row["function"]) + (number - 1) * 0.22 for row in own]
            reach = [
                [m - a for m, a in zip(middle, low, strict=True)],
                [b - m for m, b in zip(middle, high, strict=True)],
            ]
            panel.errorbar(
                middle, at, xerr=reach, fmt="o", ms=3.5, lw=1, color=COLOURS[number], label=pair
            )
        panel.axvline(0, color="0.8", lw=0.7, zorder=0)
        panel.set_title(title, fontsize=9)
        panel.set_ylim(len(names) - 0.5, -0.5)
        panel.set_xlabel("rank correlation", fontsize=8)
        panel.set_yticks(range(len(names)), labels=names if panel is axes[0][0] else [])
    handles, _ = axes[0][0].get_legend_handles_labels()
    legend(figure, handles, len(handles))
    return figure
