"""Causal mediation against gating."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING

from headatlas.plots.captions import WARNING_CHARACTERS, count_text, models_heading, title_of, warn
from headatlas.plots.panels import grid, legend, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from headatlas.maps import Mediation
    from headatlas.maps.mediation import MediationRow

MEDIATING, OTHER = "#d55e00", "0.55"
"""Colours of heads that mediate, and of the others."""

NAMED = 5
"""As many of the strongest mediating heads of a panel are named."""

NAME_GAP = 0.05
"""The least distance between two names, as a share of the panel's width."""

COLUMNS = 3
"""Panels side by side."""


def mediation(results: Sequence[Mediation]) -> Figure:
    """Indirect effect of every head against its largest facilitation over seeds.

    One panel per task. Coloured: heads that mediate, right of the line at mean + 3 standard
    deviations; the strongest are named by layer and head. Above: the coloured heads against random
    ones of the same layers, and Welch's t, the published statistic.
    """
    columns = min(COLUMNS, len(results))
    lines = -(-len(results) // columns)
    figure, axes = grid(lines, columns, 2.6, 2.0, share=False, gap=(0.5, 0.85))
    panels = [panel for line in axes for panel in line]
    for panel in panels[len(results) :]:
        panel.set_visible(False)
    for result, panel in zip(results, panels, strict=False):
        strip(panel, title_of(result.task))
        _draw(panel, result)
    handles, _ = panels[0].get_legend_handles_labels()
    legend(figure, handles, len(handles))
    tests = [_tested(result, named=len(results) > 1) for result in results]
    seeds = count_text([result.seeds for result in results], "seed")
    models_heading(figure, (result.model for result in results), "\n".join([seeds, *tests]))
    for result in results:
        of_task = f" ({title_of(result.task)})" if len(results) > 1 else ""
        for warning in result.warnings:
            for line in wrap(f"Caution{of_task}: {warning}.", WARNING_CHARACTERS):
                warn(figure, line)
    return figure


def _tested(result: Mediation, *, named: bool) -> str:
    """How many heads mediate, and the tests: a line with the task's name, or two without."""
    count = f"{len(result.mediating)} of {len(result.rows)} heads mediate"
    return (
        f"{title_of(result.task)}: {count}; {result.test}" if named else f"{count}\n{result.test}"
    )


def _draw(panel: Axes, result: Mediation) -> None:
    groups = (
        ("other heads", OTHER, [row for row in result.rows if not row.mediates]),
        ("heads that mediate", MEDIATING, list(result.mediating)),
    )
    for label, colour, rows in groups:
        panel.scatter(
            [row.effect for row in rows],
            [row.facilitation for row in rows],
            s=9,
            color=colour,
            label=label,
            linewidths=0,
        )
    panel.axvline(result.threshold, color="0.3", lw=0.8, ls="--", label="mean + 3 sd")
    _name_heads(panel, result.mediating[:NAMED])
    panel.set_ylim(-0.05, 1.05)
    panel.set_xlabel(result.effect, fontsize=8)
    panel.set_ylabel("largest F over seeds", fontsize=8)
    panel.tick_params(labelsize=7)


def _name_heads(panel: Axes, rows: Sequence[MediationRow]) -> None:
    """The names of heads below their points, upright and apart; above points that lie low."""
    left, right = panel.get_xlim()
    for low in (False, True):
        own = sorted((row for row in rows if (row.facilitation < 0.5) == low), key=_effect)
        places = _apart([row.effect for row in own], NAME_GAP * (right - left))
        for row, place in zip(own, places, strict=True):
            panel.annotate(
                row.name,
                (row.effect, row.facilitation),
                xytext=(place, 0.12 if low else 0.88),
                ha="center",
                va="bottom" if low else "top",
                rotation=90,
                fontsize=6.5,
                arrowprops={"arrowstyle": "-", "lw": 0.4, "color": "0.4", "shrinkA": 0},
            )


def _effect(row: MediationRow) -> float:
    return row.effect


def _apart(places: Sequence[float], gap: float) -> list[float]:
    """Increasing places moved until no two are closer than the gap; their mean stays.

    >>> _apart([0.0, 0.0, 5.0, 6.0], 2.0)
    [-0.75, 1.25, 4.25, 6.25]
    """
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + gap) if moved else place)
    shift = (sum(moved) - sum(places)) / max(1, len(moved))
    return [place - shift for place in moved]
