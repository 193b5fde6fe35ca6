"""One number per head as colours."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from headatlas.errors import PlotError
from headatlas.maps.roles import SCORES
from headatlas.plots.captions import (
    method_title,
    seeds_text,
    short_model,
    show_warnings,
    task_title,
)
from headatlas.plots.panels import LETTER, MISSING, legend, new_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headatlas.maps import Map

LABELS = {
    "facilitation": "facilitation (G⁻)",
    "interference": "interference (1 − G⁺)",
    "irrelevance": "irrelevance (G⁺ · (1 − G⁻))",
    "induction": "attention weight on tokens after earlier occurrences",
    "previous_token": "attention weight on the previous token",
    "duplicate_token": "attention weight on earlier occurrences",
    "first_token": "attention weight on the first token",
    "target_token": "attention weight on the target's token in the prompt",
    "entropy": "entropy of attention (nats)",
    "direct_logit": "direct effect on the target's logit",
}
EFFECTS = {
    "effect": "change of {quantity}",
    "effect_se": "standard error over questions of the change of {quantity}",
    "indirect_effect": "indirect effect on {quantity}",
    "indirect_effect_se": "standard error over questions of the indirect effect on {quantity}",
}
QUANTITIES = {
    "logprob": "target log P (nats per token)",
    "difference": "the log P difference (nats)",
    "probability": "P(target)",
    "accuracy": "accuracy",
}
"""What effects are effects on, by the measure of their map."""

WEIGHTS = ("induction", "previous_token", "duplicate_token", "first_token", "target_token")
FROM_0_TO_1 = (*SCORES, "gate", "gate_plus", "gate_minus", *WEIGHTS)
"""Variables whose scale is the same in all figures."""

SHORTEST = 24
"""Letters in a line beside the colour bar, at least."""

OUTLIER = 3.0
"""A scale leaves out heads that reach beyond this multiple of the usual range."""


def heatmap(maps: Sequence[Map], *, variable: str | None = None, rule: str = "mean") -> Figure:
    """One variable of any map as colours, layer by head.

    Layer 0 is at the bottom; heads without a number are grey. Numbers of both signs get a scale
    that is symmetric about 0, blue for a loss and red for a gain; scores and gates have one from 0
    to 1; others run from the smallest to the largest. Where a few heads would drown all others, the
    scale ends before them and their numbers are written in. Seeds are aggregated by `rule`.
    """
    (head_map,) = maps
    variable = variable or head_map.variables[0]
    values = _layer_by_head(head_map, variable, rule)
    layers, heads = values.shape
    figure = new_figure(1.9 + 0.26 * min(heads, 40), 1.5 + 0.15 * layers)
    axes = figure.add_subplot()
    axes.set_facecolor(MISSING)
    scale = _scale(values.to_numpy(), variable)
    image = axes.imshow(
        np.ma.masked_invalid(values.to_numpy()),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        **scale,
    )
    beyond = _write_beyond(axes, values.to_numpy(), scale["vmin"], scale["vmax"])
    axes.set_xlabel("Head")
    axes.set_ylabel("Layer")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, nbins=12, min_n_ticks=2))
    model = f"{short_model(head_map)}, {seeds_text(maps, rule)}"
    axes.set_title(f"{model}\n{task_title(head_map)}: {method_title(head_map)}", fontsize=10)
    bar = figure.colorbar(image, ax=axes, extend=beyond)
    inches = axes.get_position().height * figure.get_figheight()
    bar.set_label(fill(_label(head_map, variable), max(SHORTEST, int(inches / LETTER))))
    if bool(values.isnull().any()):
        legend(figure, [Patch(facecolor=MISSING, edgecolor="0.4", label="not measured")], 1)
    show_warnings(figure, maps)
    return figure


def _label(head_map: Map, variable: str) -> str:
    """What a variable is, with its unit."""
    if variable not in EFFECTS:
        return LABELS.get(variable, variable)
    measure = dict(head_map.provenance.get("settings", {})).get("measure", "logprob")
    return EFFECTS[variable].format(quantity=QUANTITIES[str(measure)])


def _layer_by_head(head_map: Map, variable: str, rule: str) -> xr.DataArray:
    values = head_map[variable]
    if "seed" in values.dims:
        values = head_map.aggregate(rule, "seed", skip_missing=True)[variable]
    if values.dims != ("layer", "head"):
        raise PlotError(
            f"a heatmap shows one number per head, but '{variable}' also differs by "
            f"{', '.join(str(d) for d in values.dims[:-2])}: choose another figure."
        )
    if not np.isfinite(values.to_numpy()).any():
        raise PlotError(f"'{variable}' has no number for any head: there is nothing to draw.")
    return values


def _scale(values: np.ndarray[Any, Any], variable: str) -> dict[str, Any]:
    """Colours and limits; the limits leave out up to 2 % of the heads if those stand far out."""
    if variable in FROM_0_TO_1:
        return {"cmap": "viridis", "vmin": 0.0, "vmax": 1.0}
    finite = values[np.isfinite(values)]
    low, high = finite.min(), finite.max()
    usual = float(np.quantile(np.abs(finite), 0.98))
    limit = max(abs(low), abs(high))
    if 0 < OUTLIER * usual < limit:
        limit = usual
    if low < 0:
        return {"cmap": "RdBu_r", "vmin": -limit, "vmax": limit}
    return {"cmap": "viridis", "vmin": low, "vmax": max(low, limit)}


def _write_beyond(axes: Axes, values: np.ndarray[Any, Any], low: float, high: float) -> str:
    """Write the numbers that lie beyond the scale; return at which ends, in matplotlib's words."""
    for layer, head in np.argwhere((values < low) | (values > high)):
        number = f"{values[layer, head]:.2g}".replace("-", "−")
        axes.text(head, layer, number, ha="center", va="center", color="white", fontsize=6)
    below, above = bool(np.nanmin(values) < low), bool(np.nanmax(values) > high)
    return {(1, 1): "both", (1, 0): "min", (0, 1): "max"}.get((below, above), "neither")
