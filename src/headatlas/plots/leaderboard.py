"""Which map serves which use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headatlas.plots.captions import count_text, models_heading, title_of
from headatlas.plots.panels import grid, panels_box, strip
from headatlas.stats.faithfulness import HIGHER_IS_BETTER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headatlas.checks.results import Leaderboard

PANELS = {
    "circuit": "Small circuit ↑",
    "removable": "Removable half ↓",
    "gain": "Gain without the worst ↑",
}
"""The scores that are shown, and whether a high or a low number is good."""


LEGEND_GAP = 0.08
"""Inches between the panels' labels and the legend."""

LEGEND = (
    "Darker: better within a task. *: better than heads shuffled within layers. Bold: this, finds",
    "what is wanted, and no map is shown to be better. Empty: heads are not shown to be needed.",
)


def leaderboard(boards: Sequence[Leaderboard]) -> Figure:
    """Scores of every method (rows) on every task (columns), for the three uses of a map.

    Darker is better within a task. Bold: finds what is wanted, beats orders shuffled within layers,
    and no map of the task is shown to be better. Empty where the model is not shown to need its
    heads.
    """
    (board,) = boards
    size = (0.62 * max(2, len(board.tasks)), 0.24 * max(2, len(board.methods)))
    figure, axes = grid(1, 3, *size, share=False, gap=(0.5, 0.35), left=1.9, below=1.3)
    for number, (panel, (score, title)) in enumerate(zip(axes[0], PANELS.items(), strict=True)):
        strip(panel, title)
        _draw(panel, board, score)
        names = [] if number else list(board.methods)
        panel.set_yticks(range(len(board.methods)), labels=names, fontsize=7)
    models_heading(
        figure,
        [board.model],
        count_text([board.questions], "test question"),
        f"replaced by {board.replacement}, {board.measure}",
    )
    box = panels_box(figure)
    place = ((box.x0 + box.x1) / 2, box.y0 - LEGEND_GAP / figure.get_figheight())
    figure.text(*place, "\n".join(LEGEND), ha="center", va="top", fontsize=8)
    return figure


def _draw(panel: Axes, board: Leaderboard, score: str) -> None:
    values = np.full((len(board.methods), len(board.tasks)), np.nan)
    for row in board.rows:
        values[board.methods.index(row.method), board.tasks.index(row.task)] = row.scores[
            score
        ].mean
    good = values if HIGHER_IS_BETTER[score] else -values
    low = np.where(np.isnan(good), np.inf, good).min(0)
    high = np.where(np.isnan(good), -np.inf, good).max(0)
    shade = (good - low) / np.where(high > low, high - low, 1.0)  # NaN stays empty
    panel.imshow(shade, cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
    for row in board.rows:
        place = board.methods.index(row.method), board.tasks.index(row.task)
        star = "*" if row.beats_chance[score] else ""
        panel.text(
            place[1],
            place[0],
            "" if np.isnan(values[place]) else f"{values[place]:.2f}{star}",
            ha="center",
            va="center",
            fontsize=6.5,
            weight="bold" if row.serves(score) else "normal",
        )
    names = [title_of(task) for task in board.tasks]
    panel.set_xticks(range(len(names)), labels=names, rotation=45, ha="right", fontsize=7)
    panel.set_xlabel("task", fontsize=8)
