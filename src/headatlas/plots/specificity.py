"""What masking one function's heads does to every other function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import Rectangle

from headatlas.plots.captions import check_heading
from headatlas.plots.function_rows import level_text
from headatlas.plots.panels import grid
from headatlas.plots.per_function import CHANGE, require_functions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headatlas.checks.results import FunctionCheck
    from headatlas.stats.intervals import Change


def specificity(checks: Sequence[FunctionCheck]) -> Figure:
    """Change of log P of every function (columns) when the heads of one (rows) are masked.

    The same number of heads everywhere. Blue is a loss, red a gain. Bold: the interval excludes 0.
    Framed: the heads that harm a function most (solid), and the function that heads harm most
    (dotted).
    """
    (check,) = checks
    table = check.specificity
    names = table.functions
    require_functions(names, "specificity")
    values = np.array([[change.mean for change in row] for row in table.change])
    size = max(0.5 * len(names), 2.5)
    figure, axes = grid(1, 1, size, 0.6 * size, left=2.0, below=1.45, right=1.2)
    panel = axes[0][0]
    limit = float(np.abs(values).max()) or 1.0
    image = panel.imshow(values, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
    panel.set_yticks(range(len(names)), labels=names, fontsize=8)
    panel.set_xticks(range(len(names)), labels=names, rotation=45, ha="right", fontsize=8)
    panel.set_ylabel(f"whose {table.heads} heads are masked", fontsize=8)
    panel.set_xlabel(f"function measured (bold: {level_text(check)} excludes 0)", fontsize=8)
    for row, changes in enumerate(table.change):
        for column, change in enumerate(changes):
            _write(panel, row, column, change, limit)
    for place in range(len(names)):
        _frame(panel, int(values[:, place].argmin()), place, "solid", 0.44)
        _frame(panel, place, int(values[place].argmin()), "dotted", 0.36)
    figure.colorbar(image, ax=panel).set_label(CHANGE, fontsize=8)
    most = f"own heads harm most for {table.most} of {len(names)} functions (chance 1)"
    check_heading(figure, check, most)
    return figure


def _frame(panel: Axes, row: int, column: int, style: str, half: float) -> None:
    """A frame inside a cell; `half` is half its width, where cells are 1 wide."""
    corner = (column - half, row - half)
    frame = Rectangle(corner, 2 * half, 2 * half, fill=False, linestyle=style, linewidth=1.1)
    panel.add_patch(frame)


def _write(panel: Axes, row: int, column: int, change: Change, limit: float) -> None:
    panel.text(
        column,
        row,
        f"{change.mean:+.2f}",
        ha="center",
        va="center",
        fontsize=6.5,
        color="white" if abs(change.mean) > 0.6 * limit else "black",
        weight="normal" if change.below is None else "bold",
    )
