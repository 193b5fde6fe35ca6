"""G⁺ against G⁻."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.plots.captions import heading, task_title
from headatlas.plots.panels import grid, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from headatlas.maps import Map

CORNERS = {
    "facilitating": (1.0, 1.09, "right"),
    "irrelevant": (0.0, 1.09, "left"),
    "interfering": (0.0, -0.09, "left"),
}
"""Where the word of a role stands, at its corner but beyond all points: x, y, alignment."""


def gates(maps: Sequence[Map]) -> Figure:
    """G⁺ against G⁻ of every head and seed, a panel per task; the corners are the roles."""
    figure, axes = grid(1, len(maps), 2.5, 2.5, gap=(0.3, 0.5), below=0.6)
    for panel, head_map in zip(axes[0], maps, strict=True):
        minus, plus = (head_map[name].to_numpy().ravel() for name in ("gate_minus", "gate_plus"))
        for edge in (0, 1):
            panel.axhline(edge, color="0.9", lw=0.7, zorder=0)
        panel.scatter(minus, plus, s=6, color="#0072b2", alpha=0.25, linewidths=0)
        for role, (x, y, ha) in CORNERS.items():
            panel.text(x, y, role, ha=ha, va="center", fontsize=8, color="0.3")
        panel.set_xlim(-0.03, 1.03)
        panel.set_ylim(-0.16, 1.16)
        panel.set_xlabel("G⁻ (pushed off)")
        strip(panel, task_title(head_map))
    axes[0][0].set_ylabel("G⁺ (pushed on)")
    heading(figure, maps)
    return figure
