"""Heads as points in the space of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from headatlas.errors import PlotError
from headatlas.maps.functions import ranked_heads
from headatlas.plots.captions import heading, seeds_text, task_title
from headatlas.plots.functions import mean_importance
from headatlas.plots.panels import grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from headatlas.maps import Map
    from headatlas.maps.order import Head

COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c564b", "black",
)  # fmt: skip
"""Of the functions; readers with colour blindness can tell them apart."""

LEGEND = "heads before the elbow of\n(of several: the one they are\nmost important for)"


def head_profiles(maps: Sequence[Map]) -> Figure:
    """Heads as points: the two principal components of their importances for all functions.

    The heads before a function's elbow have its colour; of several such functions, that of the one
    they are most important for.
    """
    from sklearn.decomposition import PCA

    (head_map,) = maps
    heads, profiles = _profiles(head_map)
    if min(profiles.shape) < 2:
        raise PlotError("the figure head-profiles needs at least two functions and two heads.")
    components = PCA(2, svd_solver="full")
    points = components.fit_transform(profiles)
    ranked = ranked_heads(head_map)
    sets = [set(function.chosen) for function in ranked.values()]
    chosen = np.array([[head in of_function for of_function in sets] for head in heads])
    favourite = np.where(chosen, profiles, -np.inf).argmax(1)
    figure, axes = grid(1, 1, 3.6, 2.8, below=0.55, right=1.8)
    panel = axes[0][0]
    others = panel.plot(*points.T, ".", color="0.8", ms=4, label="other heads")
    for number, name in enumerate(ranked):
        own = chosen[:, number] & (favourite == number)
        colour = COLOURS[number % len(COLOURS)]
        panel.plot(*points[own].T, "o", ms=4.5, color=colour, label=name)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(4))
    panel.ticklabel_format(style="sci", scilimits=(-2, 3))
    first, second = components.explained_variance_ratio_
    panel.set_xlabel(f"first component ({first:.0%} of the variance)")
    panel.set_ylabel(f"second component ({second:.0%})")
    handles = [line for line in panel.lines if line not in others]
    panel.legend(
        handles=[*handles, *others],
        title=LEGEND,
        loc="center left",
        bbox_to_anchor=(1.02, 0.5),
        frameon=False,
        fontsize=7,
        title_fontsize=7,
        alignment="left",
    )
    heading(figure, maps, f"{task_title(head_map)}, {seeds_text(maps)}")
    return figure


def _profiles(head_map: Map) -> tuple[list[Head], np.ndarray]:
    """The heads that have numbers, and their importances, head × function."""
    values = mean_importance(head_map)
    exists = np.isfinite(values.to_numpy()).all(0)
    layers, heads = (values[dim].to_numpy() for dim in ("layer", "head"))
    named = [(int(layers[i]), int(heads[j])) for i, j in np.argwhere(exists)]
    return named, values.to_numpy()[:, exists].T
