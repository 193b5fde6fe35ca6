"""The map of cognitive functions: importance of every head, one panel a function."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MultipleLocator

from headatlas.errors import PlotError
from headatlas.maps.functions import function_names, is_probing, ranked_heads, weak_functions
from headatlas.plots.captions import heading, seeds_text, task_title, warn
from headatlas.plots.panels import COLOUR_BAR, MISSING, grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure

    from headatlas.maps import Map
    from headatlas.maps.order import Head

COLUMNS = 4
CROSSES = "before the elbow, not significant"
SATURATION = 0.995
"""The share of heads (over all functions) that the shared scale tells apart."""

LETTERS_PER_LINE = 26
TICK_EVERY = 6
TICKS = 5
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def functions(maps: Sequence[Map], *, saturation: float = SATURATION) -> Figure:
    """Importance of all heads for every function, a panel each, on one shared scale.

    Layer 0 is at the top. The scale ends at the quantile `saturation` of all heads, and its last
    number then has a + behind it; heads below 0 have the colour of 0. A cross is on heads before
    the elbow that shuffled labels may make as important. Functions whose heads did no more than
    random ones in a check have a star.
    """
    (head_map,) = maps
    if not 0 < saturation <= 1:
        raise PlotError(
            f"the saturation is a share of heads above 0 and up to 1, not {saturation}."
        )
    values = mean_importance(head_map)
    weak = weak_functions(head_map)
    high = _end_of_scale(values.to_numpy(), saturation)
    count, layers, heads = values.shape
    columns = min(COLUMNS, count)
    width = min(max(0.16 * heads, 1.5), 4.0)
    height = min(max(0.08 * layers, 1.5), 4.5)
    rows = -(-count // columns)
    figure, axes = grid(rows, columns, width, height, below=0.55, gap=(0.2, 0.45), right=1.0)
    panels = [panel for row in axes for panel in row]
    doubtful = _doubtful(head_map)
    for panel, name, importance in zip(panels, function_names(head_map), values, strict=False):
        image = _draw_function(panel, importance, high)
        _draw_crosses(panel, importance, doubtful.get(name, []))
        panel.set_title(_folded(name + "*" * (name in weak)), fontsize=8.5)
    for panel in panels[count:]:
        panel.set_visible(False)
    for row in axes:
        row[0].set_ylabel("Layer")
    for panel in panels[max(0, count - columns) : count]:  # with nothing below them
        panel.tick_params(labelbottom=True)
        panel.set_xlabel("Head")
    _scale_bar(figure, axes, image, values)
    heading(figure, maps, f"{task_title(head_map)}, {seeds_text(maps)}")
    notes = []
    if weak:
        notes.append(
            "* Masking these heads is not shown to harm the function more than random heads."
        )
    if any(doubtful.values()):
        notes.append("× Before the elbow, but shuffled labels may make a head as important.")
    if notes:
        warn(figure, "\n".join(notes))
    return figure


def _doubtful(head_map: Map) -> dict[str, list[Head]]:
    """Every function's heads before the elbow that fail the null; none where it was not tested."""
    if not is_probing(head_map):
        return {}
    return {name: ranked.doubtful for name, ranked in ranked_heads(head_map).items()}


def _draw_crosses(panel: Axes, values: xr.DataArray, heads: Sequence[Head]) -> None:
    layers, columns = (values[dim].to_numpy().tolist() for dim in ("layer", "head"))
    places = [(columns.index(head), layers.index(layer)) for layer, head in heads]
    if places:
        x, y = zip(*places, strict=True)
        panel.plot(x, y, "x", color="white", ms=2.6, mew=0.7, label=CROSSES)


def mean_importance(head_map: Map) -> xr.DataArray:
    """Importance averaged over seeds, function × layer × head."""
    if "seed" in head_map.data.dims:
        head_map = head_map.aggregate("mean", skip_missing=True)
    values = head_map["importance"].transpose("function", ...)
    if not np.isfinite(values.to_numpy()).any():
        raise PlotError("'importance' has no number for any head: there is nothing to draw.")
    return values


def _draw_function(panel: Axes, values: xr.DataArray, high: float) -> ScalarMappable:
    image = panel.imshow(
        np.ma.masked_invalid(values.to_numpy()),
        origin="upper",
        aspect="auto",
        interpolation="nearest",
        cmap="viridis",
        vmin=0.0,
        vmax=high,
    )
    panel.set_facecolor(MISSING)
    for axis, size in ((panel.xaxis, values.sizes["head"]), (panel.yaxis, values.sizes["layer"])):
        axis.set_major_locator(MultipleLocator(TICK_EVERY if size > TICK_EVERY else 1))
    return image


def _scale_bar(
    figure: Figure, axes: Sequence[Sequence[Axes]], image: ScalarMappable, values: xr.DataArray
) -> None:
    """The shared scale, right of all panels.

    A + stands behind its end if heads lie beyond it, and a ≤ before its 0 if heads lie below it.
    """
    last = axes[0][-1].get_position()
    bottom = axes[-1][0].get_position().y0
    left, width = last.x1 + 0.15 / figure.get_figwidth(), 0.13 / figure.get_figwidth()
    place = (left, bottom, width, last.y1 - bottom)
    bar = figure.colorbar(image, cax=figure.add_axes(place, label=COLOUR_BAR))
    high = float(image.get_clim()[1] or 0)
    labels, unit = _numbers(high)
    labels[0] = "≤ 0" if bool((values < 0).any()) else "0"
    labels[-1] += "+" if bool((values > high).any()) else ""
    bar.set_ticks(np.linspace(0, high, TICKS + 1).tolist(), labels=labels)
    bar.ax.set_title(f"Head importance{unit}", fontsize=8, loc="left", pad=8)


def _numbers(high: float) -> tuple[list[str], str]:
    """The numbers of a scale from 0 to `high`, and the power of ten that they are to be taken with.

    Numbers around 0.005 have the four decimals of the published figure.
    """
    power = int(np.floor(np.log10(high) + 1e-9))
    ticks = np.linspace(0, high, TICKS + 1)
    if -3 <= power <= 1:
        return [f"{tick:.{1 - power}f}" for tick in ticks], ""
    unit = f"\n(× 10{str(power).translate(SUPERSCRIPTS)})"
    return [f"{tick / 10.0**power:.1f}" for tick in ticks], unit


def _folded(name: str) -> str:
    """A long name in several lines."""
    return fill(name, LETTERS_PER_LINE, break_long_words=False)


def _end_of_scale(values: np.ndarray[Any, Any], saturation: float) -> float:
    """A round number near a high quantile; 1 if no head is above 0."""
    finite = values[np.isfinite(values)]
    high = float(np.quantile(finite, saturation))
    high = high if high > 0 else float(finite.max())
    if high <= 0:
        return 1.0
    step = 10.0 ** np.floor(np.log10(high)) / 2
    return float(np.ceil(high / step) * step)
