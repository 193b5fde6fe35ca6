"""Figures of the causal checks of a map of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headatlas.plots.panels import grid, legend

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CHOSEN, RANDOM = "#0072b2", "0.55"
COLUMNS = 4


def masking_figure(check: Mapping[str, Any]) -> Figure:
    """Change of a function's answers when its heads are masked, beside random heads, at every
    number of heads; bars are 95 % intervals of the difference from random heads."""
    names = list(dict.fromkeys(row["function"] for row in check["masking"]))
    figure, panels = _panels(names)
    for name, panel in panels.items():
        rows = [row for row in check["masking"] if row["function"] == name]
        heads = [row["heads"] for row in rows]
        control = np.array([row["control"] for row in rows])
        difference = np.array([row["difference"]["mean"] for row in rows])
        low = [row["difference"]["low"] for row in rows]
        high = [row["difference"]["high"] for row in rows]
        panel.plot(heads, control, "s--", color=RANDOM, ms=4, lw=1, label="random heads")
        panel.errorbar(
            heads,
            control + difference,
            yerr=[difference - low, high - difference],
            fmt="o-",
            color=CHOSEN,
            ms=4,
            lw=1.2,
            label="the function's heads (bars: 95 % of the difference)",
        )
        panel.axhline(0, color="0.8", lw=0.7, zorder=0)
        panel.set_title(name, fontsize=9)
    _label(panels, names, "heads masked", "change of log P (nats)")
    _legend(figure, panels[names[0]])
    _headline(figure, check)
    return figure


def strengthening_figure(check: Mapping[str, Any]) -> Figure:
    """Change of a function's answers when its heads are pushed along its direction."""
    names = list(dict.fromkeys(row["function"] for row in check["strengthening"]))
    figure, panels = _panels(names)
    for name, panel in panels.items():
        rows = [row for row in check["strengthening"] if row["function"] == name]
        still = {"strength": 0.0, "change": {"mean": 0.0, "low": 0.0, "high": 0.0}}
        rows = sorted([*rows, still], key=lambda row: float(row["strength"]))
        mean = np.array([row["change"]["mean"] for row in rows])
        low = [row["change"]["low"] for row in rows]
        high = [row["change"]["high"] for row in rows]
        strengths = [row["strength"] for row in rows]
        panel.errorbar(
            strengths, mean, yerr=[mean - low, high - mean], fmt="o-", color=CHOSEN, ms=4, lw=1.2
        )
        panel.axhline(0, color="0.8", lw=0.7, zorder=0)
        panel.axvline(0, color="0.8", lw=0.7, zorder=0)
        panel.set_title(name, fontsize=9)
    _label(panels, names, "strength", "change of log P (nats)")
    _headline(figure, check)
    return figure


def specificity_figure(check: Mapping[str, Any]) -> Figure:
    """Mask the heads of one function (row), measure another (column); bold where the interval
    leaves out 0."""
    table = check["specificity"]
    names = table["functions"]
    values = np.array([[cell["mean"] for cell in row] for row in table["change"]])
    size = max(0.5 * len(names), 2.5)
    figure, axes = grid(1, 1, size, 0.6 * size, left=2.0, below=1.45, right=1.2)
    panel = axes[0][0]
    reach = float(np.abs(values).max()) or 1.0
    image = panel.imshow(values, cmap="RdBu", vmin=-reach, vmax=reach, aspect="auto")
    heads = table["heads"]
    labels = [f"{name} ({count})" for name, count in zip(names, heads, strict=True)]
    panel.set_yticks(range(len(names)), labels=labels, fontsize=8)
    panel.set_xticks(range(len(names)), labels=names, rotation=45, ha="right", fontsize=8)
    panel.set_ylabel("heads masked of", fontsize=8)
    panel.set_xlabel("measured (bold: the 95 % interval leaves out 0)", fontsize=8)
    for (row, column), value in np.ndenumerate(values):
        cell = table["change"][row][column]
        sure = cell["high"] < 0 or cell["low"] > 0
        panel.text(
            column,
            row,
            f"{value:+.2f}",
            ha="center",
            va="center",
            fontsize=6.5,
            color="white" if abs(value) > 0.6 * reach else "black",
            weight="bold" if sure else "normal",
        )
    figure.colorbar(image, ax=panel).set_label("change of log P (nats)", fontsize=8)
    _headline(figure, check)
    return figure


def _panels(names: Sequence[str]) -> tuple[Figure, dict[str, Axes]]:
    columns = min(COLUMNS, len(names))
    rows = -(-len(names) // columns)
    figure, axes = grid(rows, columns, 1.7, 1.3, share=False, gap=(0.5, 0.6), below=0.85)
    flat = [panel for row in axes for panel in row]
    for panel in flat[len(names) :]:
        panel.set_visible(False)
    return figure, dict(zip(names, flat, strict=False))


def _label(panels: Mapping[str, Axes], names: Sequence[str], x: str, y: str) -> None:
    columns = min(COLUMNS, len(names))
    for number, panel in enumerate(panels.values()):
        panel.tick_params(labelsize=7)
        if number % columns == 0:
            panel.set_ylabel(y, fontsize=8)
        if number + columns >= len(names):
            panel.set_xlabel(x, fontsize=8)


def _headline(figure: Figure, check: Mapping[str, Any]) -> None:
    """Model, task and number of questions above everything."""
    said = [check.get("model"), check.get("task")]
    if "questions" in check:
        said.append(f"{check['questions']} test questions")
    top = 1 - 0.08 / figure.get_size_inches()[1]
    words = ", ".join(str(each) for each in said if each)
    figure.text(0.5, top, words, ha="center", va="top", fontsize=9)


def _legend(figure: Figure, panel: Axes) -> None:
    handles, _ = panel.get_legend_handles_labels()
    legend(figure, handles, len(handles))
