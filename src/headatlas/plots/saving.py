"""Figures as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headatlas.atomic import replacing
from headatlas.errors import PlotError
from headatlas.plots.panels import save_undated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")


def check_format(path: str | Path) -> None:
    """Raise unless the file name has the suffix of a format that figures are saved in.

    >>> check_format("roles.pdf")
    >>> check_format("roles.docx")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    headatlas.errors.PlotError: the figure roles.docx cannot be saved: its name has '.docx', ...
    """
    suffix = Path(path).suffix
    if suffix.lower() not in FORMATS:
        ending = f"'{suffix}'" if suffix else "no suffix"
        raise PlotError(
            f"the figure {path} cannot be saved: its name has {ending}, and should end in "
            f"{', '.join(FORMATS)}."
        )


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Save as PNG, SVG or PDF, by the suffix; the file appears whole or not at all.

    The same figure always gives the same bytes, and so does the figure's own `savefig`.

    >>> save_figure(gates.plot("always-any"), "roles.pdf")  # doctest: +SKIP
    """
    path = Path(path)
    check_format(path)
    with replacing(path) as temporary:
        save_undated(figure, temporary, format=path.suffix[1:].lower())
    return path


def save_in_all_formats(figure: Figure, base: str | Path) -> list[Path]:
    """Save a figure as PNG, SVG and PDF; `base` is the path without suffix."""
    return [save_figure(figure, f"{base}{ending}") for ending in FORMATS]
