"""The section of docs/results/methods.md on how far methods agree, from stored comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan, sqrt

import numpy as np

import headatlas as ha
from headatlas.maps.comparison import AND, AgreementRow
from markdown import table, text

COLUMNS = ("maps", "tasks", "correlation", "ceiling", "without noise", "within layers")
COLUMNS += ("ceiling within",)


def agreement_section(comparisons_of: Mapping[str, Sequence[ha.Comparison]]) -> list[str]:
    """The section, from the comparisons by the name of their model; nothing without any."""
    found = {model: rows for model, own in comparisons_of.items() if (rows := agreement_rows(own))}
    if not found:
        return []
    parts = [
        "## Do methods agree?",
        text(
            "Rank correlation of the importances of all heads, of every two methods' maps of a "
            "task; mean over tasks, and the lowest and highest. *Ceiling*: the correlation that "
            "two maps would have which differ in independent noise alone, from their "
            "reliabilities; *without noise*: the correlation corrected for it; mean over the tasks "
            "where they are known. *Within layers*: with every layer's mean subtracted, which "
            "leaves that layers differ in how much their heads differ: up to 0.1 is no sign of "
            "agreement."
        ),
    ]
    for model, rows in found.items():
        parts += [f"### {model}", table(COLUMNS, rows)]
    return parts


def agreement_rows(comparisons: Sequence[ha.Comparison]) -> list[list[str]]:
    """A row for every two methods, those that agree most first."""
    pairs: dict[tuple[str, str], list[AgreementRow]] = {}
    for comparison in comparisons:
        if AND in comparison.task or AND not in comparison.method:
            continue  # not different methods on one task
        for row in comparison.rows:
            one, other = sorted(row.pair)
            pairs.setdefault((one, other), []).append(row)
    ordered = sorted(pairs.items(), key=lambda pair: -_mean([row.spearman for row in pair[1]]))
    return [_cells(labels, rows) for labels, rows in ordered]


def _cells(labels: tuple[str, str], rows: Sequence[AgreementRow]) -> list[str]:
    values = [row.spearman for row in rows]
    return [
        " – ".join(labels),
        str(len(rows)),
        f"{_mean(values):+.2f} ({min(values):+.2f} … {max(values):+.2f})",
        _known([row.ceiling for row in rows], ".2f"),
        _known([row.disattenuated for row in rows], "+.2f"),
        f"{_mean([row.within for row in rows]):+.2f}",
        _known([_root(*row.within_reliability) for row in rows], ".2f"),
    ]


def _root(one: float, other: float) -> float:
    """The ceiling of two reliabilities."""
    return sqrt(one * other) if one > 0 and other > 0 else nan


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _known(values: Sequence[float], form: str) -> str:
    """The mean of what is known; empty where nothing is."""
    known = [value for value in values if np.isfinite(value)]
    return format(_mean(known), form) if known else ""
