"""How the scores of gating are distributed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D

from headatlas.maps.roles import cumulative
from headatlas.plots.captions import heading, task_title
from headatlas.plots.panels import grid, legend, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr
    from matplotlib.figure import Figure

    from headatlas.maps import Map

SYMBOLS = {"facilitation": "F", "interference": "N", "irrelevance": "R"}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "0.3")
"""Of the tasks."""


def distributions(maps: Sequence[Map]) -> Figure:
    """Cumulative distributions of facilitation, interference and irrelevance, a line per task.

    The thick line is over heads and seeds, a pale one over the heads of one seed.
    """
    figure, axes = grid(1, 3, 2.3, 2.1, gap=(0.5, 0.5))
    for panel, (score, symbol) in zip(axes[0], SYMBOLS.items(), strict=True):
        for number, head_map in enumerate(maps):
            colour = COLOURS[number % len(COLOURS)]
            values = head_map[score]
            for of_seed in values.transpose("seed", ...) if "seed" in values.dims else ():
                panel.step(*_from_0_to_1(of_seed), where="post", color=colour, alpha=0.2, lw=0.6)
            line = _from_0_to_1(values)
            panel.step(*line, where="post", color=colour, lw=1.6, label=task_title(head_map))
        panel.set_xlim(0, 1)
        panel.set_ylim(0, 1)
        panel.set_xlabel(symbol)
        strip(panel, score.capitalize())
    axes[0][0].set_ylabel("share of heads")
    handles = axes[0][0].get_legend_handles_labels()[0]
    if any(head_map.data.sizes.get("seed", 1) > 1 for head_map in maps):
        handles.append(Line2D([], [], color="0.3", alpha=0.5, lw=0.8, label="pale: single seeds"))
    legend(figure, handles, 4)
    heading(figure, maps)
    return figure


def _from_0_to_1(values: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """An empirical distribution, extended to the whole range of a score."""
    at, share = cumulative(values)
    return np.array([0, *at, 1]), np.array([0, *share, 1])
