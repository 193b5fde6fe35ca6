"""What removing one task's heads does to every other task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.patches import Rectangle

from headatlas.plots.captions import count_text, models_heading, title_of
from headatlas.plots.panels import grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from headatlas.checks.results import TaskSpecificity


def task_specificity(results: Sequence[TaskSpecificity]) -> Figure:
    """The part of every task (columns) that is lost without the first heads of one (rows).

    The same number of heads everywhere. 0: nothing changes; 1: as without any head. Bold: the
    interval excludes 0. Framed: the heads without which a task loses most.
    """
    (result,) = results
    names = [title_of(task) for task in result.tasks]
    values = np.array([[change.mean for change in row] for row in result.loss])
    size = max(0.55 * len(names), 2.2)
    figure, axes = grid(1, 1, size, 0.62 * size, left=1.5, below=1.2, right=1.1)
    panel = axes[0][0]
    image = panel.imshow(values, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    panel.set_yticks(range(len(names)), labels=names, fontsize=8)
    panel.set_xticks(range(len(names)), labels=names, rotation=45, ha="right", fontsize=8)
    panel.set_ylabel(f"whose {result.heads} heads are removed", fontsize=8)
    unneeded = "; –: needs no heads" if result.without_loss else ""
    panel.set_xlabel(f"task measured (bold: 95 % excludes 0{unneeded})", fontsize=8)
    for row, changes in enumerate(result.loss):
        for column, change in enumerate(changes):
            panel.text(
                column,
                row,
                "–" if np.isnan(change.mean) else f"{change.mean:.2f}",
                ha="center",
                va="center",
                fontsize=7,
                color="white" if change.mean > 0.6 else "black",
                weight="normal" if change.above is None and change.below is None else "bold",
            )
    for column in range(len(names)):
        if not np.isnan(values[:, column]).any():
            corner = (column - 0.44, int(values[:, column].argmax()) - 0.44)
            panel.add_patch(Rectangle(corner, 0.88, 0.88, fill=False, linewidth=1.1))
    bar = figure.colorbar(image, ax=panel, extend="both")
    bar.set_label("part lost", fontsize=8)
    bar.ax.tick_params(labelsize=8)
    found = result.advantage
    panel.set_title(
        f"own − others {found.mean:+.2f} ({found.low:+.2f} … {found.high:+.2f}), {result.p_text}",
        fontsize=8,
    )
    models_heading(
        figure,
        [result.model],
        result.method,
        count_text([result.questions], "test question"),
    )
    return figure
