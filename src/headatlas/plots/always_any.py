"""The map of roles: what holds in every seed, and what in any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from headatlas.errors import PlotError
from headatlas.plots.captions import heading, task_title
from headatlas.plots.panels import grid, legend, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

    from headatlas.maps import Map

PALETTES = {
    "red-green": ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0)),
    "blue-orange": ((0.0, 0.447, 0.698), (0.902, 0.48, 0.0)),
}
"""The colours of full facilitation and of full interference; those of one head are added.

The second palette differs in lightness as well as in hue (after Okabe and Ito), so that readers
with any kind of colour blindness tell the four apart.
"""

COLUMNS = {"always": "Always", "any": "Any"}
MISSING = 1.0


def always_any(maps: Sequence[Map], *, palette: str = "red-green") -> Figure:
    """Roles of all heads by gating: a row per task, in every seed (Always) and in some (Any).

    Green is facilitation, red interference, each as strong as its score; black heads are neither,
    yellow ones facilitate in some seeds and interfere in others. Layer 0 is at the bottom.
    """
    if palette not in PALETTES:
        raise PlotError(f"no palette '{palette}': there are {', '.join(PALETTES)}.")
    layers = max(head_map.data.sizes["layer"] for head_map in maps)
    heads = max(head_map.data.sizes["head"] for head_map in maps)
    width = min(max(0.17 * heads, 1.9), 5.2)
    height = min(max(0.09 * layers, 1.6), 5.0)
    figure, axes = grid(len(maps), 2, width, height, below=1.0)
    for row, head_map in zip(axes, maps, strict=True):
        for panel, (rule, word) in zip(row, COLUMNS.items(), strict=True):
            panel.imshow(
                role_colours(head_map, rule, palette),
                origin="lower",
                aspect="auto",
                interpolation="nearest",
            )
            panel.set_xlim(-0.5, heads - 0.5)
            panel.set_ylim(-0.5, layers - 0.5)
            panel.set_facecolor(str(MISSING))
            strip(panel, f"{task_title(head_map)} ({word})")
            panel.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=9, min_n_ticks=2))
            panel.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=8, min_n_ticks=2))
        row[0].set_ylabel("Layer")
    for panel in axes[-1]:
        panel.set_xlabel("Head")
    handles: list[Artist] = [*_legend(palette)]
    if any(bool(head_map["facilitation"].isnull().any()) for head_map in maps):
        handles.append(Patch(facecolor=str(MISSING), edgecolor="0.4", label="no such head"))
    legend(figure, handles, 2)
    heading(figure, maps)
    return figure


def role_colours(head_map: Map, rule: str, palette: str = "red-green") -> np.ndarray[Any, Any]:
    """The colour of every head, layer × head × (red, green, blue); missing heads are white."""
    if "seed" in head_map.data.dims:
        head_map = head_map.aggregate(rule, skip_missing=True)
    helping, hindering = PALETTES[palette]
    colours = np.multiply.outer(head_map["facilitation"].to_numpy(), helping)
    colours = colours + np.multiply.outer(head_map["interference"].to_numpy(), hindering)
    colours[np.isnan(colours).any(-1)] = MISSING
    return np.asarray(np.clip(colours, 0, 1))


def _legend(palette: str) -> list[Patch]:
    helping, hindering = PALETTES[palette]
    both = tuple(min(1.0, a + b) for a, b in zip(helping, hindering, strict=True))
    corners = {
        "facilitating": helping,
        "interfering": hindering,
        "neither": (0.0, 0.0, 0.0),
        "facilitating in some seeds,\ninterfering in others": both,
    }
    return [
        Patch(facecolor=colour, edgecolor="0.4", label=label)  # type: ignore[arg-type]
        for label, colour in corners.items()
    ]
