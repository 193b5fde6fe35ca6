"""Figures from maps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headatlas.errors import PlotError, StoreError
from headatlas.maps.files import temporary_prefix
from headatlas.plots.heatmap import heatmap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headatlas.maps import Map

__all__ = ["FIGURES", "draw", "heatmap", "save_figure"]

FIGURES: dict[str, Callable[..., Figure]] = {
    "heatmap": heatmap,
}
FORMATS = (".png", ".svg", ".pdf")


def draw(figure: str, drawn: Map, **settings: object) -> Figure:
    """Draw a figure by name."""
    if figure not in FIGURES:
        raise PlotError(f"no figure '{figure}': there are {', '.join(FIGURES)}.")
    return FIGURES[figure](drawn, **settings)


def check_format(path: Path) -> None:
    """Raise unless the file name ends in a format that figures can have."""
    if path.suffix.lower() not in FORMATS:
        raise PlotError(f"the figure {path} should end in {', '.join(FORMATS)}.")


def save_figure(figure: Figure, path: str | Path) -> Path:
    """Save as PNG, SVG or PDF, by the name's ending; text stays text, and runs are repeatable."""
    import matplotlib

    path = Path(path)
    check_format(path)
    ending = path.suffix.lower()
    temporary = path.with_name(f"{temporary_prefix()}{path.name}")
    undated = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    style: Any = {"svg.hashsalt": "headatlas", "svg.fonttype": "none", "pdf.fonttype": 42}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context(style):
            figure.savefig(
                temporary,
                format=ending[1:],
                dpi=200,
                bbox_inches="tight",
                metadata=undated[ending],
            )
        temporary.replace(path)
    except OSError as error:
        if path.parent.is_dir():
            temporary.unlink(missing_ok=True)
        raise StoreError(f"the figure {path} cannot be written: {error.strerror}.") from error
    return path
