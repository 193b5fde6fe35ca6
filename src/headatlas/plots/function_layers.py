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
    """Number of every function's heads (those before the elbow) in each layer."""
    (head_map,) = maps
    ranked = ranked_heads(head_map)
    layers = head_map.data["layer"].to_numpy().tolist()
    counts = np.zeros((len(ranked), len(layers)))
    for row, function in enumerate(ranked.values()):
        for layer, _ in function.chosen:
            counts[row, layers.index(layer)] += 1
    width = max(0.13 * len(layers), 2.5)
    figure, axes = grid(1, 1, width, 0.24 * len(ranked), left=1.7, below=0.55, right=1.0)
    panel = axes[0][0]
    image = panel.imshow(counts, aspect="auto", interpolation="nearest", cmap="viridis", vmin=0)
    panel.set_yticks(range(len(ranked)), labels=list(ranked))
    panel.xaxis.set_major_locator(MultipleLocator(TICK_EVERY))
    panel.set_xlabel("Layer")
    bar = figure.colorbar(image, ax=panel, ticks=MaxNLocator(4, integer=True))
    bar.set_label("heads before the elbow", fontsize=8)
    heading(figure, maps, f"{task_title(head_map)}, {seeds_text(maps)}")
    return figure
