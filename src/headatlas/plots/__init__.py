"""Figures from maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headatlas.errors import PlotError, StoreError
from headatlas.maps.files import temporary_prefix
from headatlas.plots.always_any import always_any
from headatlas.plots.functions import function_layers, function_overlap, functions, head_profiles
from headatlas.plots.gates import distributions, scatter, trajectories
from headatlas.plots.heatmap import heatmap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from headatlas.maps import Map

__all__ = ["FIGURES", "Drawing", "draw", "save_figure", "save_in_all_formats"]


class Drawing(NamedTuple):
    """A kind of figure: how it is drawn, what maps must have for it, whether it takes several."""

    function: Callable[..., Figure]
    needs: tuple[str, ...] = ()
    several: bool = False

    def suits(self, drawn: Map) -> bool:
        """Whether a map has what the figure shows."""
        return set(self.needs) <= set(drawn.variables)


GATING = ("facilitation", "interference", "irrelevance")
FIGURES: dict[str, Drawing] = {
    "heatmap": Drawing(heatmap),
    "always-any": Drawing(always_any, GATING, several=True),
    "distributions": Drawing(distributions, GATING, several=True),
    "gates": Drawing(scatter, ("gate_plus", "gate_minus"), several=True),
    "trajectories": Drawing(trajectories, (*GATING, "gate_path")),
    "functions": Drawing(functions, ("importance",)),
    "function-layers": Drawing(function_layers, ("importance",)),
    "function-overlap": Drawing(function_overlap, ("importance",)),
    "head-profiles": Drawing(head_profiles, ("importance",)),
}
FORMATS = (".png", ".svg", ".pdf")


def draw(figure: str, drawn: Map | Sequence[Map], **settings: object) -> Figure:
    """Draw a figure by name, from one map or several."""
    if figure not in FIGURES:
        raise PlotError(f"no figure '{figure}': there are {', '.join(FIGURES)}.")
    maps = list(drawn) if isinstance(drawn, Sequence) else [drawn]
    kind = FIGURES[figure]
    for each in maps:
        if not kind.suits(each):
            method = each.provenance.get("method", "another method")
            raise PlotError(f"the figure {figure} is not for maps of {method}.")
    if not maps:
        raise PlotError(f"there is no map to draw as {figure}.")
    if len(maps) > 1 and not kind.several:
        raise PlotError(f"the figure {figure} shows one map, not {len(maps)}.")
    settings = {name: value for name, value in settings.items() if value is not None}
    _check_settings(figure, kind.function, settings)
    return kind.function(maps if kind.needs else maps[0], **settings)


def _check_settings(figure: str, function: Callable[..., Figure], given: dict[str, object]) -> None:
    known = function.__kwdefaults__ or {}
    for name in given:
        if name not in known:
            raise PlotError(f"the figure {figure} has no setting '{name}'.")


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


def save_in_all_formats(figure: Figure, base: str | Path) -> list[Path]:
    """Write a figure as PNG, SVG and PDF under one name without ending."""
    return [save_figure(figure, f"{base}{ending}") for ending in FORMATS]
