"""A table of shares, functions by functions, as colours with the shares written in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import PercentFormatter

from headatlas.plots.panels import MISSING, AtlasFigure, grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

CELL, SMALLEST = 0.38, 1.5
"""Width and height of a cell, and at least of the whole table, in inches."""


def share_table(
    share: np.ndarray, names: Sequence[str], label: str, *, below: float = 1.5
) -> tuple[AtlasFigure, Axes]:
    """A figure with one panel: `share[row, column]` between 0 and 1, both axes by `names`.

    Cells without a share (NaN) are grey and empty. `label` stands beside the colour bar.
    """
    size = max(CELL * len(names), SMALLEST)
    figure, axes = grid(1, 1, size, size, left=1.7, below=below, right=1.0)
    panel = axes[0][0]
    panel.set_facecolor(MISSING)
    image = panel.imshow(np.ma.masked_invalid(share), cmap="viridis", vmin=0, vmax=1, aspect="auto")
    panel.set_yticks(range(len(names)), labels=names)
    panel.set_xticks(range(len(names)), labels=names, rotation=60, ha="right")
    for (row, column), value in np.ndenumerate(share):
        words = f"{value:.0%}" if np.isfinite(value) else ""
        colour = "black" if value > 0.6 else "white"
        panel.text(column, row, words, ha="center", va="center", color=colour, fontsize=6)
    bar = figure.colorbar(image, ax=panel, format=PercentFormatter(1, decimals=0))
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=8)
    return figure, panel
