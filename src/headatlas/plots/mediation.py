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

MEDIATING, OTHER = "#d55e00", "0.55"
"""Colours of heads that mediate, and of the others."""

NAMED = 5
"""As many of the strongest mediating heads of a panel are named."""

COLUMNS = 3
"""Panels side by side."""


def mediation(results: Sequence[Mediation]) -> Figure:
    """Indirect effect of every head against its largest facilitation over seeds.

    One panel per task. Coloured: heads that mediate, right of the line at mean + 3 standard
    deviations; the strongest are named by layer and head. Above: Welch's t-test of the coloured
    heads against the others.
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
    tests = [
        f"{f'{title_of(result.task)}: ' if len(results) > 1 else ''}{len(result.mediating)} of "
        f"{len(result.rows)} heads mediate; {result.test}"
        for result in results
    ]
    seeds = count_text([result.seeds for result in results], "seed")
    models_heading(figure, (result.model for result in results), "\n".join([seeds, *tests]))
    for result in results:
        of_task = f" ({title_of(result.task)})" if len(results) > 1 else ""
        for warning in result.warnings:
            for line in wrap(f"Caution{of_task}: {warning}.", WARNING_CHARACTERS):
                warn(figure, line)
    return figure


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
    for row in result.mediating[:NAMED]:
        low = row.facilitation < 0.5
        panel.annotate(  # upright, so that heads with similar effects stay apart
            row.name,
            (row.effect, row.facilitation),
            xytext=(0, 4 if low else -4),
            textcoords="offset points",
            ha="center",
            va="bottom" if low else "top",
            rotation=90,
            fontsize=6.5,
        )
    panel.set_ylim(-0.05, 1.05)
    panel.set_xlabel(result.effect, fontsize=8)
    panel.set_ylabel("largest F over seeds", fontsize=8)
    panel.tick_params(labelsize=7)
