"""Accuracy before and after contrastive gating."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headatlas.plots.panels import grid, legend, strip

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.figure import Figure

SIDES = {"retain": ("retained", "#0072b2"), "forget": ("forgotten", "#d55e00")}


def contrast_figure(rows: Sequence[Mapping[str, Any]]) -> Figure:
    """Bars of accuracy per task: pale for the untouched model, full with 95 % intervals.

    `rows` is what `Contrasted.as_dict` gives; pairs that keep the same form share a panel.
    """
    panels: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        keeps, loses = (_form(row[side]) for side in SIDES)
        title = f"keep {keeps}, forget {loses}" if keeps and loses else "keep one, forget the other"
        panels.setdefault(title, []).append(row)
    most = max(len(each) for each in panels.values())
    figure, axes = grid(
        len(panels), 1, max(2.5, 0.95 * most), 1.7, share=False, gap=(0.3, 0.75), below=0.85
    )
    for (panel,), (title, group) in zip(axes, panels.items(), strict=True):
        places = np.arange(len(group))
        for offset, (side, (word, colour)) in zip((-0.2, 0.2), SIDES.items(), strict=True):
            before = [row[f"{side}_before"] for row in group]
            after = [row[f"{side}_after"] for row in group]
            panel.bar(places + offset, before, 0.36, color=colour, alpha=0.25)
            panel.bar(places + offset, after, 0.26, color=colour, label=f"{word} (pale: untouched)")
            bounds = np.array([row[f"{side}_after_interval"] for row in group]).T
            panel.vlines(places + offset, *bounds, color="black", linewidth=0.8)
        panel.set_xticks(places, [_label(row) for row in group], fontsize=7)
        panel.set_ylim(0, 1)
        panel.set_ylabel("accuracy")
        strip(panel, title)
    legend(figure, axes[0][0].get_legend_handles_labels()[0], 2)
    return figure


def _form(name: str) -> str:
    return name.partition(":")[2]


def _label(row: Mapping[str, Any]) -> str:
    """The task that both sides are forms of, or both tasks."""
    kept, lost = (str(row[side]).partition(":")[0] for side in SIDES)
    return kept.replace("-", "-\n", 1) if kept == lost else f"{kept}\nnot {lost}"
