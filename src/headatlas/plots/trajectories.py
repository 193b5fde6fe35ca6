"""Gates and loss while they are fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from headatlas.errors import PlotError
from headatlas.maps.map import Map
from headatlas.maps.roles import FACILITATING, INTERFERING, IRRELEVANT, NO_ROLE, roles
from headatlas.plots.captions import heading, task_title
from headatlas.plots.panels import grid, legend, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    FACILITATING: "#0072b2",
    INTERFERING: "#d55e00",
    IRRELEVANT: "0.55",
}
OTHER = "#cc79a7"
STAGES = {"free": "G (free)", "plus": "G⁺ (pushed on)", "minus": "G⁻ (pushed off)"}


def trajectories(maps: Sequence[Map], *, seed: int | None = None) -> Figure:
    """Every gate and the loss over the three fits of one seed, coloured by the final role."""
    (head_map,) = maps
    if "seed" not in head_map.data.dims:
        head_map = Map(head_map.data.expand_dims("seed"), head_map.provenance)
    seeds = head_map.data["seed"].to_numpy().tolist()
    seed = seeds[0] if seed is None else seed
    if seed not in seeds:
        raise PlotError(f"no seed {seed} in this map: it has {', '.join(map(str, seeds))}.")
    data = head_map.data.sel(seed=seed)
    final = roles(head_map, None).sel(seed=seed).to_numpy()
    figure, axes = grid(2, 3, 2.3, 1.7, share=False, gap=(0.3, 0.2))
    losses = data["loss"].to_numpy()
    limits = np.nanmin(losses) / 1.3, np.nanmax(losses) * 1.3
    for column, (stage, title) in enumerate(STAGES.items()):
        above, below = axes[0][column], axes[1][column]
        _gate_lines(above, data.sel(stage=stage), final)
        above.set_ylim(-0.02, 1.02)
        strip(above, title)
        losses = data["loss"].sel(stage=stage).to_numpy()
        below.plot(np.arange(1, len(losses) + 1), losses, color="0.2", lw=0.9)
        below.set_yscale("log")
        below.set_ylim(*limits)
        below.sharex(above)
        above.autoscale(axis="x")
        above.tick_params(labelbottom=False)
        for panel in (above, below):
            panel.tick_params(which="both", labelleft=column == 0)
            panel.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        below.set_xlabel("update")
    axes[0][0].set_ylabel("gate")
    axes[1][0].set_ylabel("loss (nats per token)")
    legend(figure, _role_lines(final), 4)
    heading(figure, maps, f"{task_title(head_map)}, seed {seed}")
    return figure


def _gate_lines(panel: Axes, fit: xr.Dataset, final: np.ndarray) -> None:
    """A line per gate over one fit; `final` holds the roles, layer × head."""
    steps = fit["point_step"].to_numpy()
    path = fit["gate_path"].to_numpy()  # point layer head
    kept = (steps >= 0) & np.isfinite(path).any((1, 2))
    for role in (IRRELEVANT, "", FACILITATING, INTERFERING):
        chosen = final == role if role else ~np.isin(final, [*COLOURS, ""])
        lines = path[kept][:, chosen]
        panel.plot(steps[kept], lines, color=COLOURS.get(role, OTHER), alpha=0.35, lw=0.6)


def _role_lines(final: np.ndarray) -> list[Line2D]:
    """Of the roles that occur."""
    named = {role: colour for role, colour in COLOURS.items() if role in final}
    if (~np.isin(final, [*COLOURS, ""])).any():
        named[NO_ROLE] = OTHER
    return [Line2D([], [], color=colour, label=role) for role, colour in named.items()]
