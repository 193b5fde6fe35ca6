"""What figures of one or several panels share: the figure itself, sizes, strip titles, legends."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.transforms import Bbox

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

STRIP = 0.24
"""Height of a strip title, in inches."""

LETTER = 0.08
"""Width of a letter of size 9, in inches."""

COLOUR_BAR = "<colorbar>"
"""The label that matplotlib gives to the axes of a colour bar."""

BELOW = 0.05
"""Space between the panels and what stands below them, in inches."""

STRIP_COLOUR = "0.85"
MISSING = "0.85"

STYLE: Any = {"svg.hashsalt": "headatlas", "svg.fonttype": "none", "pdf.fonttype": 42}
"""Text stays text, and the ids inside an SVG do not change from run to run."""

UNDATED: dict[str, dict[str, Any]] = {
    "png": {},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}


class AtlasFigure(Figure):
    """A matplotlib figure that is saved the same way every time, byte for byte.

    `savefig` has other defaults than matplotlib: 200 dots per inch, cut to what is drawn, text as
    text, and no date in the file. Every argument of matplotlib's `savefig` still works.
    """

    def savefig(self, fname: Any, **settings: Any) -> None:
        """Save as `matplotlib.figure.Figure.savefig` does, with the defaults of Head Atlas."""
        save_undated(self, fname, **settings)


def save_undated(figure: Figure, target: Any, **settings: Any) -> None:
    """Save any matplotlib figure with the defaults of `AtlasFigure`; `settings` go first."""
    defaults: dict[str, Any] = {"dpi": 200, "bbox_inches": "tight"}
    ending = settings.get("format") or _ending(target)
    if ending in UNDATED:
        defaults["metadata"] = UNDATED[ending]
    with matplotlib.rc_context(STYLE):
        Figure.savefig(figure, target, **(defaults | settings))


def _ending(target: Any) -> str:
    """The format that matplotlib takes from a file name, or its default for an open file."""
    named = Path(target).suffix[1:].lower() if isinstance(target, str | os.PathLike) else ""
    return named or str(matplotlib.rcParams["savefig.format"])


def new_figure(width: float, height: float) -> AtlasFigure:
    """An empty figure of `width` × `height` inches that needs no display."""
    figure = AtlasFigure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def grid(
    rows: int,
    columns: int,
    width: float,
    height: float,
    *,
    share: bool = True,
    above: float = 0.35,
    below: float = 0.75,
    gap: tuple[float, float] = (0.3, 0.5),
    left: float = 0.65,
    right: float = 0.15,
) -> tuple[AtlasFigure, list[list[Axes]]]:
    """A grid of panels of `width` × `height` inches, with room for strips above each.

    `gap` is the space between columns and between rows; `above`, `below`, `left` and `right` stay
    free of panels, all in inches. With `share`, panels share their axes and only the outer ones
    have tick labels.
    """
    whole = (
        left + columns * width + (columns - 1) * gap[0] + right,
        below + rows * height + (rows - 1) * gap[1] + STRIP + above,
    )
    figure = new_figure(*whole)
    axes: list[list[Axes]] = []
    for row in range(rows):
        line: list[Axes] = []
        for column in range(columns):
            x = left + column * (width + gap[0])
            y = below + (rows - 1 - row) * (height + gap[1])
            first = (axes[0][0] if axes else line[0]) if share and (axes or line) else None
            panel = figure.add_axes(
                (x / whole[0], y / whole[1], width / whole[0], height / whole[1]),
                sharex=first,
                sharey=first,
            )
            if share:
                panel.tick_params(labelleft=column == 0, labelbottom=row == rows - 1)
            line.append(panel)
        axes.append(line)
    return figure, axes


def strip(axes: Axes, title: str) -> None:
    """A grey strip with the title, on top of a panel."""
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    height = STRIP / (axes.get_position().height * figure.get_size_inches()[1])
    axes.add_patch(
        Rectangle(
            (0, 1),
            1,
            height,
            transform=axes.transAxes,
            facecolor=STRIP_COLOUR,
            edgecolor="0.4",
            linewidth=0.8,
            clip_on=False,
        )
    )
    width = axes.get_position().width * figure.get_size_inches()[0]
    size = min(9.0, 9.0 * width / (LETTER * max(1, len(title))))
    axes.text(
        0.5,
        1 + height / 2,
        title,
        transform=axes.transAxes,
        ha="center",
        va="center",
        fontsize=size,
    )


def panels_box(figure: Figure) -> Bbox:
    """The box around all panels with their labels and titles, as shares of the figure.

    Colour bars are left out; left and right are the edges of the panels without their labels, so
    that what is centred stands over the panels.
    """
    panels = [p for p in figure.axes if p.get_visible() and p.get_label() != COLOUR_BAR]
    inner = Bbox.union([panel.get_position() for panel in panels])
    outer = Bbox.union([_with_labels(panel) for panel in panels])
    outer = outer.transformed(figure.transFigure.inverted())
    return Bbox.from_extents(inner.x0, outer.y0, inner.x1, outer.y1)


def _with_labels(panel: Axes) -> Bbox:
    box = panel.get_tightbbox()
    assert box is not None  # only invisible panels have none
    return Bbox(box.get_points())


def legend(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """A legend right below the panels, to be drawn after all else but headings and warnings.

    It is anchored to the figure: by itself it would move when a warning below it makes the saved
    figure larger.
    """
    box = panels_box(figure)
    figure.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=((box.x0 + box.x1) / 2, box.y0 - BELOW / figure.get_figheight()),
        borderaxespad=0,
        bbox_transform=figure.transFigure,
        ncols=columns,
        fontsize=8,
        frameon=False,
    )
