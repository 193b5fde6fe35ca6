"""How far several maps agree, all pairs at once."""

from __future__ import annotations

from math import isnan, nan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from headatlas.errors import PlotError
from headatlas.plots.captions import models_heading, title_of
from headatlas.plots.panels import LETTER, MISSING, grid, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headatlas.maps import Comparison
    from headatlas.maps.comparison import AgreementRow

CELL = 0.5
"""Width and height of a cell, in inches."""

COLUMNS = 4
"""Panels side by side, where there are functions."""

DARK = 0.5
"""From this correlation on a cell is so dark that its numbers are white."""

EXPLAINED = (
    "below the diagonal: rank correlation over heads; above: within layers",
    "of …: ceiling; diagonal: reliability; bold: 95 % interval excludes 0",
)


def agreement_matrix(comparisons: Sequence[Comparison]) -> Figure:
    """Rank correlation of every two of several maps: over their common heads, and within layers.

    A matrix of maps by maps, and one per function where maps have functions. Below the diagonal are
    all heads, above it heads within layers. The small number is the ceiling: the correlation of
    maps that differ in noise alone. On the diagonal is each map's own reliability, the mean over
    its pairs. Bold: the 95 % interval excludes 0.
    """
    (comparison,) = comparisons
    labels, functions = comparison.labels, comparison.functions
    if not labels:
        raise PlotError("this comparison holds no pair of maps: there is nothing to draw.")
    columns = min(COLUMNS, len(functions))
    lines = -(-len(functions) // columns)
    size, letters = CELL * len(labels), max(map(len, labels))
    room = 0.75 * LETTER * letters + 0.2
    figure, axes = grid(
        lines, columns, size, size, share=False, left=room, below=room, gap=(0.3, 0.4)
    )
    panels = [panel for line in axes for panel in line]
    for number, panel in enumerate(panels):
        if number >= len(functions):
            panel.set_visible(False)
            continue
        function = functions[number]
        if function is not None:
            strip(panel, function)
        _draw(panel, labels, [row for row in comparison.rows if row.function == function])
        lowest = number + columns >= len(functions)
        _name_maps(panel, labels, left=number % columns == 0, below=lowest)
    words = "\n".join([title_of(comparison.subject), *EXPLAINED])
    models_heading(figure, [comparison.model], words)
    return figure


def _name_maps(panel: Axes, labels: Sequence[str], *, left: bool, below: bool) -> None:
    places = range(len(labels))
    panel.set_yticks(places, labels=labels if left else [], fontsize=7)
    panel.set_xticks(
        places, labels=labels if below else [], rotation=45, ha="right", rotation_mode="anchor",
        fontsize=7,
    )  # fmt: skip
    panel.tick_params(length=0)


def _draw(panel: Axes, labels: Sequence[str], rows: Sequence[AgreementRow]) -> None:
    """One matrix: `rows` has every pair of maps once."""
    values = np.full((len(labels), len(labels)), nan)
    own: dict[int, list[float]] = {place: [] for place in range(len(labels))}
    for row in rows:
        one, other = sorted(labels.index(label) for label in row.pair)
        values[other, one], values[one, other] = row.spearman, row.within
        _write(panel, (other, one), row.spearman, (row.low, row.high), row.reliability)
        _write(
            panel, (one, other), row.within, (row.within_low, row.within_high),
            row.within_reliability,
        )  # fmt: skip
        for label, reliability in zip(row.pair, row.reliability, strict=True):
            if not isnan(reliability):
                own[labels.index(label)].append(reliability)
    panel.set_facecolor(MISSING)
    panel.imshow(np.ma.masked_invalid(values), cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
    for place, known in own.items():
        words = f"{np.mean(known):.2f}" if known else "–"
        panel.text(place, place, words, ha="center", va="center", fontsize=6.5, color="0.35")


def _write(
    panel: Axes,
    place: tuple[int, int],
    value: float,
    interval: tuple[float, float],
    reliability: tuple[float, float],
) -> None:
    """A correlation, and below it its ceiling where that is known."""
    dark = abs(value) > DARK
    low, high = interval
    ceiling = sqrt(reliability[0] * reliability[1]) if min(reliability) > 0 else nan
    known = not isnan(ceiling)
    panel.text(
        place[1],
        place[0] - (0.14 if known else 0),
        "–" if isnan(value) else f"{value:+.2f}",
        ha="center",
        va="center",
        fontsize=7,
        color="white" if dark else "black",
        weight="bold" if low > 0 or high < 0 else "normal",
    )
    if known:
        panel.text(
            place[1],
            place[0] + 0.24,
            f"of {ceiling:.2f}",
            ha="center",
            va="center",
            fontsize=5,
            color="0.92" if dark else "0.35",
        )
