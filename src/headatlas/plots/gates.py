"""Further figures of gating: the gates' way, the scores' distributions, G⁺ against G⁻."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from headatlas.errors import PlotError
from headatlas.maps.roles import FACILITATING, INTERFERING, IRRELEVANT, cumulative, roles
from headatlas.plots.panels import grid, heading, legend, strip, task_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr
    from matplotlib.figure import Figure

    from headatlas.maps import Map

COLOURS = {
    FACILITATING: "#0072b2",
    INTERFERING: "#d55e00",
    IRRELEVANT: "0.55",
}
OTHER = "#cc79a7"
STAGES = {"free": "G (free)", "plus": "G⁺ (pushed on)", "minus": "G⁻ (pushed off)"}
SCORES = {"facilitation": "F", "interference": "N", "irrelevance": "R"}
LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "0.3")


def trajectories(maps: Sequence[Map], *, seed: int | None = None) -> Figure:
    """Every gate and the loss over the three fits of one seed, coloured by the role at the end."""
    (drawn,) = maps
    seeds = drawn.data["seed"].to_numpy().tolist()
    seed = seeds[0] if seed is None else seed
    if seed not in seeds:
        raise PlotError(f"no seed {seed} in this map: it has {', '.join(map(str, seeds))}.")
    data = drawn.data.sel(seed=seed)
    final = roles(drawn, None).sel(seed=seed).to_numpy()
    figure, axes = grid(2, 3, 2.3, 1.7, share=False, gap=(0.3, 0.5))
    losses = data["loss"].to_numpy()
    low, high = np.nanmin(losses) / 1.3, np.nanmax(losses) * 1.3
    for column, (stage, title) in enumerate(STAGES.items()):
        above, below = axes[0][column], axes[1][column]
        steps = data["point_step"].sel(stage=stage).to_numpy()
        path = data["gate_path"].sel(stage=stage).to_numpy()  # point layer head
        kept = (steps >= 0) & np.isfinite(path).any((1, 2))
        for role in (IRRELEVANT, "", FACILITATING, INTERFERING):
            chosen = final == role if role else ~np.isin(final, [*COLOURS, ""])
            lines = path[kept][:, chosen]
            above.plot(steps[kept], lines, color=COLOURS.get(role, OTHER), alpha=0.35, lw=0.6)
        above.set_ylim(-0.02, 1.02)
        strip(above, title)
        losses = data["loss"].sel(stage=stage).to_numpy()
        below.plot(np.arange(1, len(losses) + 1), losses, color="0.2", lw=0.9)
        below.set_yscale("log")
        below.set_ylim(low, high)
        for panel in (above, below):
            panel.tick_params(which="both", labelleft=column == 0)
            panel.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
        below.set_xlabel("update")
    axes[0][0].set_ylabel("gate")
    axes[1][0].set_ylabel("loss (nats a token)")
    legend(figure, _role_lines(), 4)
    heading(figure, maps, f"{task_title(drawn)}, seed {seed}")
    return figure


def distributions(maps: Sequence[Map]) -> Figure:
    """Empirical distribution of facilitation, interference and irrelevance over heads and seeds."""
    figure, axes = grid(1, 3, 2.3, 2.1, gap=(0.3, 0.5))
    for panel, (name, letter) in zip(axes[0], SCORES.items(), strict=True):
        for number, drawn in enumerate(maps):
            colour = LINES[number % len(LINES)]
            for one in drawn[name].transpose("seed", ...):
                panel.step(*_from_0_to_1(one), where="post", color=colour, alpha=0.2, lw=0.6)
            line = _from_0_to_1(drawn[name])
            panel.step(*line, where="post", color=colour, lw=1.6, label=task_title(drawn))
        panel.set_xlim(0, 1)
        panel.set_ylim(0, 1)
        panel.set_xlabel(letter)
        strip(panel, name.capitalize())
    axes[0][0].set_ylabel("share of heads")
    legend(figure, axes[0][0].get_legend_handles_labels()[0], 4)
    heading(figure, maps)
    return figure


def scatter(maps: Sequence[Map]) -> Figure:
    """G⁺ against G⁻ of every head and seed: the corners are the roles."""
    figure, axes = grid(1, len(maps), 2.5, 2.5, gap=(0.3, 0.5), below=0.6)
    corners = {
        "facilitating": (0.97, 0.97, "right", "top"),
        "irrelevant": (0.03, 0.97, "left", "top"),
        "interfering": (0.03, 0.03, "left", "bottom"),
    }
    for panel, drawn in zip(axes[0], maps, strict=True):
        down, up = drawn["gate_minus"].to_numpy().ravel(), drawn["gate_plus"].to_numpy().ravel()
        panel.scatter(down, up, s=6, color="#0072b2", alpha=0.25, linewidths=0)
        for word, (x, y, ha, va) in corners.items():
            panel.text(x, y, word, ha=ha, va=va, fontsize=8, color="0.3")
        panel.set_xlim(-0.03, 1.03)
        panel.set_ylim(-0.03, 1.03)
        panel.set_xlabel("G⁻ (pushed off)")
        strip(panel, task_title(drawn))
    axes[0][0].set_ylabel("G⁺ (pushed on)")
    heading(figure, maps)
    return figure


def _role_lines() -> list[Line2D]:
    named = {**COLOURS, "undecided": OTHER}
    return [Line2D([], [], color=colour, label=role) for role, colour in named.items()]


def _from_0_to_1(values: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """An empirical distribution, drawn over the whole range of a score."""
    at, share = cumulative(values)
    return np.array([0, *at, 1]), np.array([0, *share, 1])
