"""Figures from maps and from the results of checks.

>>> from headatlas.plots import draw, save_figure
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING

from headatlas.checks.results import (
    ContrastCheck,
    Faithfulness,
    FunctionCheck,
    GatingCheck,
    Leaderboard,
    ProbeReport,
    TaskSpecificity,
)
from headatlas.errors import HeadAtlasError, PlotError
from headatlas.maps import Comparison, Map, Mediation
from headatlas.maps.result import Result
from headatlas.maps.roles import SCORES
from headatlas.plots.agreement import agreement
from headatlas.plots.agreement_matrix import agreement_matrix
from headatlas.plots.always_any import always_any
from headatlas.plots.confusion import confusion
from headatlas.plots.contrast import contrast
from headatlas.plots.distributions import distributions
from headatlas.plots.drawing import Drawing, kind_of
from headatlas.plots.faithfulness import faithfulness
from headatlas.plots.function_layers import function_layers
from headatlas.plots.function_overlap import function_overlap
from headatlas.plots.functions import functions
from headatlas.plots.gates import gates
from headatlas.plots.head_profiles import head_profiles
from headatlas.plots.heatmap import heatmap
from headatlas.plots.leaderboard import leaderboard
from headatlas.plots.masking import masking
from headatlas.plots.mediation import mediation
from headatlas.plots.saving import check_format, save_figure, save_in_all_formats
from headatlas.plots.specificity import specificity
from headatlas.plots.strengthening import strengthening
from headatlas.plots.task_specificity import task_specificity
from headatlas.plots.toggling import toggling
from headatlas.plots.trajectories import trajectories

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "FIGURES",
    "Drawing",
    "check_format",
    "default_figure",
    "draw",
    "figure_html",
    "save_figure",
    "save_in_all_formats",
]

GATING, PROBING = "gating map", "probing map"
IMPORTANCE = ("importance",)
GATES = ("gate_plus", "gate_minus")
FITS = (*SCORES, "gate_path", "point_step", "loss")
FIGURES: dict[str, Drawing] = {
    "heatmap": Drawing(heatmap, Map, "map"),
    "always-any": Drawing(always_any, Map, GATING, tuple(SCORES), several=True),
    "distributions": Drawing(distributions, Map, GATING, tuple(SCORES), several=True),
    "gates": Drawing(gates, Map, GATING, GATES, several=True),
    "trajectories": Drawing(trajectories, Map, GATING, FITS),
    "functions": Drawing(functions, Map, PROBING, IMPORTANCE),
    "function-layers": Drawing(function_layers, Map, PROBING, IMPORTANCE),
    "function-overlap": Drawing(function_overlap, Map, PROBING, IMPORTANCE),
    "head-profiles": Drawing(head_profiles, Map, PROBING, IMPORTANCE),
    "toggling": Drawing(toggling, GatingCheck, GatingCheck.kind, several=True),
    "masking": Drawing(masking, FunctionCheck, FunctionCheck.kind),
    "specificity": Drawing(specificity, FunctionCheck, FunctionCheck.kind),
    "strengthening": Drawing(strengthening, FunctionCheck, FunctionCheck.kind),
    "faithfulness": Drawing(faithfulness, Faithfulness, Faithfulness.kind, several=True),
    "leaderboard": Drawing(leaderboard, Leaderboard, Leaderboard.kind),
    "task-specificity": Drawing(task_specificity, TaskSpecificity, TaskSpecificity.kind),
    "confusion": Drawing(confusion, ProbeReport, ProbeReport.kind),
    "contrast": Drawing(contrast, ContrastCheck, ContrastCheck.kind, several=True),
    "agreement": Drawing(agreement, Comparison, Comparison.kind, several=True),
    "agreement-matrix": Drawing(
        agreement_matrix, Comparison, "comparison of three or more maps", fewest_maps=3
    ),
    "mediation": Drawing(mediation, Mediation, Mediation.kind, several=True),
}
"""Every figure that any command draws, by name."""

MAIN = (
    "always-any",
    "functions",
    "toggling",
    "masking",
    "contrast",
    "agreement-matrix",
    "agreement",
    "mediation",
    "confusion",
    "faithfulness",
    "leaderboard",
    "task-specificity",
)
"""The figures that are drawn where none is named; of other maps it is the heatmap."""

SCREEN_DPI = 100


def draw(figure: str, things: Map | Result | Sequence[Map | Result], **settings: object) -> Figure:
    """Draw a figure by name, from one map or result or from several.

    A setting that is None is left at its default.

    >>> draw("always-any", gates, palette="blue-orange").savefig("roles.pdf")  # doctest: +SKIP
    """
    if figure not in FIGURES:
        raise PlotError(f"no figure '{figure}': there are {', '.join(FIGURES)}.")
    drawing = FIGURES[figure]
    several = isinstance(things, Sequence) and not isinstance(things, str)
    shown = list(things) if several else [things]  # type: ignore[arg-type]
    if not shown:
        raise PlotError(f"there is no {drawing.kind} to draw as {figure}.")
    for thing in shown:
        drawing.check_thing(figure, thing)
    if len(shown) > 1 and not drawing.several:
        raise PlotError(f"the figure {figure} shows one {drawing.kind}, not {len(shown)}.")
    given = {name: value for name, value in settings.items() if value is not None}
    drawing.check_settings(figure, list(given))
    return drawing.function(shown, **given)


def default_figure(thing: Map | Result) -> str:
    """The name of the figure that shows a map or result best."""
    for name in MAIN:
        if FIGURES[name].suits(thing):
            return name
    if isinstance(thing, Map):
        return "heatmap"
    raise PlotError(f"there is no figure of a {kind_of(thing)}.")


def figure_html(figure: str, thing: Map | Result) -> str:
    """A figure as an `<img>` element that carries its PNG, for notebooks.

    A map or result that cannot be drawn gives the empty string, so that a notebook still shows
    everything else about it.
    """
    png = BytesIO()
    try:
        draw(figure, thing).savefig(png, format="png", dpi=SCREEN_DPI)
    except HeadAtlasError:
        return ""
    data = b64encode(png.getvalue()).decode("ascii")
    alt = escape(f"{figure}: {_subject(thing)}")
    return f'<img alt="{alt}" src="data:image/png;base64,{data}">'


def _subject(thing: Map | Result) -> str:
    """What a figure is about, for readers who cannot see it."""
    facts = thing.provenance if isinstance(thing, Map) else {}
    of = [str(facts[key]) for key in ("task", "model") if key in facts]
    return ", ".join([kind_of(thing), *of])
