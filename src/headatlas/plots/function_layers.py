"""Where in the model the heads of every function lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator, MultipleLocator

from headatlas.maps.functions import ranked_heads
from headatlas.plots.captions import heading, seeds_text, task_title
from headatlas.plots.functions import TICK_EVERY
from headatlas.plots.panels import grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from headatlas.maps import Map


def function_layers(maps: Sequence[Map]) -> Figure:
    """Number of every function's heads in each layer: before the elbow, and beyond chance too.

    Beyond chance are heads that are more important than shuffled labels make any head.
    """
    (head_map,) = maps
    ranked = ranked_heads(head_map)
    layers = head_map.data["layer"].to_numpy().tolist()
    counts = np.zeros((2, len(ranked), len(layers)))
    for row, function in enumerate(ranked.values()):
        for layer, head in function.chosen:
            counts[0, row, layers.index(layer)] += 1
            counts[1, row, layers.index(layer)] += (layer, head) in function.significant
    width = max(0.11 * len(layers), 2.2)
    figure, axes = grid(1, 2, width, 0.24 * len(ranked), left=1.7, below=0.55, right=1.0)
    titles = ("before the elbow", "of these significant")
    most = max(1.0, float(counts.max()))
    for panel, title, values in zip(axes[0], titles, counts, strict=True):
        image = panel.imshow(
            values, aspect="auto", interpolation="nearest", cmap="viridis", vmin=0, vmax=most
        )
        panel.set_title(title, fontsize=9)
        panel.set_yticks(range(len(ranked)), labels=list(ranked))
        panel.xaxis.set_major_locator(MultipleLocator(TICK_EVERY))
        panel.set_xlabel("Layer")
    bar = figure.colorbar(image, ax=axes[0], ticks=MaxNLocator(4, integer=True))
    bar.set_label("number of heads", fontsize=8)
    heading(figure, maps, f"{task_title(head_map)}, {seeds_text(maps)}")
    return figure
