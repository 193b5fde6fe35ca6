"""The map of cognitive functions: importance of every head, one panel a function."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator, MultipleLocator

from headatlas.maps.causes import weak_functions
from headatlas.maps.functions import ranked_heads
from headatlas.plots.panels import MISSING, grid, heading, seeds_text, task_title, warn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from headatlas.maps import Map

COLUMNS = 4
SATURATED = 0.995
"""The share of heads (over all functions) that the shared scale tells apart."""

COLOURS = (
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c564b", "black",
)  # fmt: skip
"""Of the functions as points; they can be told apart by colour-blind eyes."""

LETTERS_A_LINE = 26
TICK_EVERY = 6
TICKS = 5


def functions(maps: Sequence[Map], *, saturation: float = SATURATED) -> Figure:
    """Importance of all heads for every function on one shared scale; layer 0 is at the top.

    The scale ends at a high percentile, and its last number then has a + behind it. Functions whose
    heads did no more than random ones in a check are marked.
    """
    (drawn,) = maps
    values = drawn.aggregate("mean", skip_missing=True)["importance"].transpose("function", ...)
    names = [str(name) for name in values["function"].to_numpy()]
    weak = weak_functions(drawn)
    low, high, beyond = _scale(values.to_numpy(), saturation)
    layers, heads = values.shape[1:]
    columns = min(COLUMNS, len(names))
    rows = -(-len(names) // columns)
    width = min(max(0.16 * heads, 1.5), 4.0)
    height = min(max(0.08 * layers, 1.5), 4.5)
    figure, axes = grid(rows, columns, width, height, below=0.55, gap=(0.2, 0.45), right=1.0)
    image = None
    for number, panel in enumerate(each for row in axes for each in row):
        if number >= len(names):
            panel.set_visible(False)
            continue
        image = panel.imshow(
            np.ma.masked_invalid(values[number].to_numpy()),
            origin="upper",
            aspect="auto",
            interpolation="nearest",
            cmap="viridis",
            vmin=low,
            vmax=high,
        )
        panel.set_facecolor(MISSING)
        mark = "*" if names[number] in weak else ""
        panel.set_title(_folded(names[number] + mark), fontsize=8.5)
        for axis in (panel.xaxis, panel.yaxis):
            size = heads if axis is panel.xaxis else layers
            axis.set_major_locator(MultipleLocator(TICK_EVERY if size > TICK_EVERY else 1))
    for row in axes:
        row[0].set_ylabel("Layer")
    for panel in axes[-1]:
        panel.set_xlabel("Head")
    assert image is not None
    last = axes[0][-1].get_position()
    bottom = axes[-1][0].get_position().y0
    bar_axes = figure.add_axes(
        (
            last.x1 + 0.15 / figure.get_figwidth(),
            bottom,
            0.13 / figure.get_figwidth(),
            last.y1 - bottom,
        )
    )
    bar = figure.colorbar(image, cax=bar_axes)
    ticks = np.linspace(low, high, TICKS + 1).tolist()
    labels = [f"{tick:.{_digits(ticks)}f}" for tick in ticks]
    bar.set_ticks(ticks, labels=[*labels[:-1], labels[-1] + ("+" if beyond else "")])
    bar.ax.set_title("Heads Importance", fontsize=8, loc="left", pad=8)
    heading(figure, maps, f"{task_title(drawn)}, {seeds_text(maps)}")
    if weak:
        warn(
            figure,
            "* Masking these heads is not shown to harm the function more than random heads.",
        )
    return figure


def function_layers(maps: Sequence[Map]) -> Figure:
    """How many of every function's heads (before the elbow) lie in each layer."""
    (drawn,) = maps
    names, chosen = _chosen(drawn)
    layers = drawn.data.sizes["layer"]
    counts = np.zeros((len(names), layers))
    for row, name in enumerate(names):
        for layer, _ in chosen[name]:
            counts[row, layer] += 1
    figure, axes = grid(
        1, 1, max(0.13 * layers, 2.5), 0.24 * len(names), left=1.7, below=0.55, right=1.0
    )
    panel = axes[0][0]
    image = panel.imshow(counts, aspect="auto", interpolation="nearest", cmap="viridis", vmin=0)
    panel.set_yticks(range(len(names)), labels=names)
    panel.xaxis.set_major_locator(MultipleLocator(TICK_EVERY))
    panel.set_xlabel("Layer")
    figure.colorbar(image, ax=panel, label="heads", ticks=MaxNLocator(4, integer=True))
    heading(figure, maps, f"{task_title(drawn)}, {seeds_text(maps)}")
    return figure


def function_overlap(maps: Sequence[Map]) -> Figure:
    """The share of heads that two functions have in common, of those that either has."""
    (drawn,) = maps
    names, chosen = _chosen(drawn)
    share = np.array([[_shared(chosen[one], chosen[other]) for other in names] for one in names])
    figure, axes = grid(1, 1, 0.38 * len(names), 0.38 * len(names), left=1.7, below=1.5, right=1.0)
    panel = axes[0][0]
    image = panel.imshow(share, cmap="viridis", vmin=0, vmax=1, aspect="auto")
    panel.set_yticks(range(len(names)), labels=names)
    panel.set_xticks(range(len(names)), labels=names, rotation=60, ha="right")
    for (row, column), value in np.ndenumerate(share):
        colour = "black" if value > 0.6 else "white"
        panel.text(column, row, f"{value:.0%}", ha="center", va="center", color=colour, fontsize=6)
    figure.colorbar(image, ax=panel, label="heads in common")
    heading(figure, maps, f"{task_title(drawn)}, {seeds_text(maps)}")
    return figure


def head_profiles(maps: Sequence[Map]) -> Figure:
    """Heads as points: their importances for all functions, in the two directions that differ most.

    Coloured are the heads before a function's elbow, by the function they are most important for.
    """
    (drawn,) = maps
    names, chosen = _chosen(drawn)
    mean = drawn.aggregate("mean", skip_missing=True)["importance"].transpose("function", ...)
    values = mean.to_numpy().reshape(len(names), -1)
    exists = np.isfinite(values).all(0)
    profiles = values[:, exists].T
    centred = profiles - profiles.mean(0)
    _, spread, axes_found = np.linalg.svd(centred, full_matrices=False)
    points = centred @ axes_found[:2].T
    heads = list(zip(*np.nonzero(exists.reshape(mean.shape[1:])), strict=True))
    own = profiles.argmax(1)
    figure, axes = grid(1, 1, 3.6, 2.8, below=0.55, right=1.8)
    panel = axes[0][0]
    panel.plot(*points.T, ".", color="0.8", ms=4)
    for number, name in enumerate(names):
        at = [i for i, head in enumerate(heads) if own[i] == number and head in set(chosen[name])]
        colour = COLOURS[number % len(COLOURS)]
        panel.plot(*points[at].T, "o", ms=4.5, color=colour, label=name)
    share = spread**2 / np.sum(spread**2)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(4))
    panel.ticklabel_format(style="sci", scilimits=(-2, 3))
    panel.set_xlabel(f"first direction ({share[0]:.0%} of the variance)")
    panel.set_ylabel(f"second direction ({share[1]:.0%})")
    panel.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=7)
    heading(figure, maps, f"{task_title(drawn)}, {seeds_text(maps)}")
    return figure


def _chosen(drawn: Map) -> tuple[list[str], dict[str, list[tuple[int, int]]]]:
    """The functions of a map, and the heads before each one's elbow."""
    ranked = ranked_heads(drawn)
    return list(ranked), {name: each.chosen for name, each in ranked.items()}


def _digits(ticks: Sequence[float]) -> int:
    """Decimals with which steps of one size look so: at least the published four."""
    step = ticks[1] - ticks[0]
    exact = (n for n in range(4, 12) if all(abs(round(t, n) - t) < step / 100 for t in ticks))
    return next(exact, 12)


def _folded(name: str) -> str:
    """A long name in several lines."""
    return fill(name, LETTERS_A_LINE, break_long_words=False)


def _shared(one: list[tuple[int, int]], other: list[tuple[int, int]]) -> float:
    union = set(one) | set(other)
    return len(set(one) & set(other)) / len(union) if union else 0.0


def _scale(values: np.ndarray[Any, Any], saturation: float) -> tuple[float, float, bool]:
    """From 0 to a round number near a high percentile; whether any head lies beyond it."""
    finite = values[np.isfinite(values)]
    high = float(np.quantile(finite, saturation))
    step = 10.0 ** np.floor(np.log10(high)) / 2 if high > 0 else 1.0
    high = float(np.ceil(high / step) * step)
    return 0.0, high, bool(finite.max() > high)
