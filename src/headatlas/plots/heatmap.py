"""One number per head as colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from headatlas.errors import PlotError

if TYPE_CHECKING:
    import xarray as xr

    from headatlas.maps import Map

LABELS = {
    "effect": "change of target log-probability",
    "effect_se": "standard error over examples",
}
TITLES = {"ablation": "zero ablation"}
MISSING = "0.85"


def heatmap(drawn: Map, *, variable: str | None = None, rule: str = "mean") -> Figure:
    """Draw one variable, layer 0 at the bottom; heads that do not exist are grey.

    Numbers of both signs get a scale that is symmetric about 0, blue for a loss and red for a
    gain; others run from the smallest to the largest. Seeds are summed up by `rule`.
    """
    variable = variable or drawn.variables[0]
    values = _layer_by_head(drawn, variable, rule)
    layers, heads = values.shape
    figure = Figure(figsize=(1.9 + 0.26 * min(heads, 40), 1.5 + 0.15 * layers))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.set_facecolor(MISSING)
    image = axes.imshow(
        np.ma.masked_invalid(values.to_numpy()),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        **_scale(values.to_numpy()),
    )
    axes.set_xlabel("Head")
    axes.set_ylabel("Layer")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True, nbins=12, min_n_ticks=2))
    axes.set_title(_title(drawn), fontsize=10)
    bar = figure.colorbar(image, ax=axes)
    bar.set_label(LABELS.get(variable, variable))
    return figure


def _layer_by_head(drawn: Map, variable: str, rule: str) -> xr.DataArray:
    values = drawn[variable]
    if "seed" in values.dims:
        values = drawn.aggregate(rule, "seed")[variable]
    if values.dims != ("layer", "head"):
        raise PlotError(
            f"a heatmap shows one number per head, but '{variable}' also differs by "
            f"{', '.join(str(d) for d in values.dims[:-2])}."
        )
    if not np.isfinite(values.to_numpy()).any():
        raise PlotError(f"'{variable}' has no number for any head: there is nothing to draw.")
    return values


def _scale(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    low, high = np.nanmin(values), np.nanmax(values)
    if low < 0 or high < 0:
        reach = max(abs(low), abs(high))
        return {"cmap": "RdBu_r", "vmin": -reach, "vmax": reach}
    return {"cmap": "viridis", "vmin": low, "vmax": high}


def _title(drawn: Map) -> str:
    facts = drawn.provenance
    method = str(facts.get("method", ""))
    model = str(facts.get("model", "")).rstrip("/").rsplit("/", 1)[-1]
    return f"{model}\n{facts.get('task', '')}: {TITLES.get(method, method)}"
