"""What figures of several panels share: sizes, grey strip titles, words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from headatlas.maps import Map

STRIP = 0.24
"""Height of a strip title, in inches."""

LETTER = 0.08
"""Width of a letter of size 9, in inches."""

STRIP_COLOUR = "0.85"
MISSING = "0.85"
WARNING_COLOUR = "#b2182b"


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
) -> tuple[Figure, list[list[Axes]]]:
    """A grid of panels of `width` × `height` inches, with room for strips above each.

    `gap` is the space between columns and between rows; `above`, `below`, `left` and `right` stay
    free of panels, all in inches; with `share`, panels share their axes and only outer ones have
    numbers.
    """
    whole = (
        left + columns * width + (columns - 1) * gap[0] + right,
        below + rows * height + (rows - 1) * gap[1] + STRIP + above,
    )
    figure = Figure(figsize=whole)
    FigureCanvasAgg(figure)
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


def short_model(drawn: Map) -> str:
    """The last part of the model's name."""
    return str(drawn.provenance.get("model", "")).rstrip("/").rsplit("/", 1)[-1]


def task_title(drawn: Map) -> str:
    """The task's name as a title."""
    name = str(drawn.provenance.get("task", "task")).rstrip("/").rsplit("/", 1)[-1]
    return name[:1].upper() + name[1:]


def seeds_text(maps: Sequence[Map]) -> str:
    """How many seeds the maps have."""
    counts = sorted({int(each.data.sizes.get("seed", 1)) for each in maps})
    words = "–".join(str(count) for count in sorted({counts[0], counts[-1]}))
    return f"{words} seed{'' if counts == [1] else 's'}"


def heading(figure: Figure, maps: Sequence[Map], words: str | None = None) -> None:
    """Model and seeds above the panels, and a warning below where a task is at chance level."""
    models = ", ".join(dict.fromkeys(short_model(each) for each in maps))
    top = 1 - 0.12 / figure.get_size_inches()[1]
    said = f"{models}, {words or seeds_text(maps)}"
    figure.text(0.5, top, said, ha="center", va="top", fontsize=9)
    warned = [task_title(each) for each in maps if "task_warning" in each.provenance]
    if warned:
        which = "this task" if len(maps) == 1 else ", ".join(dict.fromkeys(warned))
        warn(figure, f"Caution: the untouched model is at chance level on {which}.")


def legend(figure: Figure, handles: Sequence[Artist], columns: int) -> None:
    """A legend at the lower edge. It is tied to the figure as drawn: by itself it would move when
    something below it makes the saved figure larger."""
    figure.legend(
        handles=handles,
        loc="lower center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=figure.transFigure,
        ncols=columns,
        fontsize=8,
        frameon=False,
    )


def warn(figure: Figure, words: str) -> None:
    """A warning below everything else."""
    below = -0.3 / figure.get_size_inches()[1]  # a legend may reach a little below 0
    figure.text(0.5, below, words, fontsize=8, color=WARNING_COLOUR, ha="center", va="top")
