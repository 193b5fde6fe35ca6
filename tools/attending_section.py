"""The section of docs/results/methods.md on heads that attend as a task needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

import headatlas as ha
from headatlas.maps.compare import importance
from headatlas.maps.labels import evidence, method_label
from headatlas.stats.arrays import FloatArray
from headatlas.stats.multiple import holm
from headatlas.stats.within_layers import LayerTest, above_own_layers
from markdown import table, text

SCORES = {"induction": "induction", "ioi": "target_token"}
"""The tasks, with the score of attention that they need."""

DEVIATIONS = 3
"""A head attends if its score exceeds the mean over heads by so many standard deviations."""

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Attending:
    """Heads that attend against the rest, by another map's importance.

    `signed` compares them by importance, with random heads of the same layers, `size` by
    |importance|, where that is not the same. `holm_p` and `size_holm_p` hold for all methods and
    tasks of the model together.
    """

    task: str
    method: str
    heads: int
    signed: LayerTest
    size: LayerTest
    holm_p: float = float("nan")
    size_holm_p: float = float("nan")


def attending_heads(attention: ha.Map, score: str) -> np.ndarray:
    """Which heads attend as the task needs: layer × head."""
    values = attention[score]
    scores = (values.mean("seed") if "seed" in values.dims else values).to_numpy()
    return scores > np.nanmean(scores) + DEVIATIONS * np.nanstd(scores)


def attending_rows(maps: Iterable[ha.Map]) -> list[Attending]:
    """All other methods' maps of a model, against what its maps of attention say."""
    maps = list(maps)
    rows = []
    for task, score in SCORES.items():
        own = _one_per_method([m for m in maps if m.provenance.get("task") == task])
        attention = [m for m in own.values() if m.provenance.get("method") == "attention"]
        if not attention:
            continue
        attending = attending_heads(max(attention, key=evidence), score)
        for method, head_map in own.items():
            if head_map.provenance.get("method") != "attention":
                values = importance(head_map).transpose("layer", "head").to_numpy()
                rows.append(_row(task, method, values, attending))
    return _corrected(rows)


def _one_per_method(maps: Sequence[ha.Map]) -> dict[str, ha.Map]:
    """Of maps with the same label, the one of most examples."""
    chosen: dict[str, ha.Map] = {}
    for head_map in sorted(maps, key=evidence):
        chosen[method_label(head_map)] = head_map
    return dict(sorted(chosen.items()))


def _row(task: str, method: str, values: FloatArray, attending: np.ndarray) -> Attending:
    attending = attending & np.isfinite(values)
    has_signs = bool((values < 0).any())
    size = above_own_layers(np.abs(values), attending) if has_signs else LayerTest()
    signed = above_own_layers(values, attending)
    return Attending(task, method, int(attending.sum()), signed, size)


def _corrected(rows: list[Attending]) -> list[Attending]:
    """With Holm's correction, over all rows, for either claim."""
    p = holm(np.array([row.signed.p for row in rows]))
    size_p = holm(np.array([row.size.p for row in rows]))
    return [
        replace(row, holm_p=float(one), size_holm_p=float(other))
        for row, one, other in zip(rows, p, size_p, strict=True)
    ]


def attending_section(maps_of: Mapping[str, Sequence[ha.Map]]) -> list[str]:
    """The section, from the maps by the name of their model; nothing where no map tells it."""
    found = {model: rows for model, maps in maps_of.items() if (rows := attending_rows(maps))}
    if not found:
        return []
    parts = [
        "## Do heads that attend as a task needs matter to it?",
        text(
            "On `induction` the heads are those that attend to what followed an earlier occurrence "
            "of the token (Olsson et al. 2022), on `ioi` those that attend from the last position "
            "to the indirect object (Wang et al. 2023): all whose score in the map of attention is "
            f"above the mean over heads by {DEVIATIONS} standard deviations. *AUROC*: the share of "
            "pairs of such a head and another in which the other method's map has it above; "
            "*layers alone*: what random heads of the same layers have on average. *p*: how often "
            "those have as high an AUROC, after Holm for all methods and tasks of the model; bold "
            f"below {SIGNIFICANT}. *Size*: the same for |effect|, as a head that attends to a word "
            "may make it less likely; empty where nothing is negative."
        ),
    ]
    columns = ("task", "heads", "method", "AUROC", "layers alone", "p")
    columns += ("AUROC, size", "layers alone", "p, size")
    for model, rows in found.items():
        parts += [f"### {model}", table(columns, map(_cells, rows)), text(_sentence(rows))]
    return parts


def _cells(row: Attending) -> list[str]:
    cells = [row.task, str(row.heads), row.method]
    for test, p in ((row.signed, row.holm_p), (row.size, row.size_holm_p)):
        known = not isnan(test.auroc)
        cells += [f"{test.auroc:.2f}", f"{test.expected:.2f}"] if known else ["", ""]
        cells.append(_p(p))
    return cells


def _p(p: float) -> str:
    if isnan(p):
        return ""
    return f"**{p:.2g}**" if p < SIGNIFICANT else f"{p:.2g}"


def _sentence(rows: Sequence[Attending]) -> str:
    """How many of the maps show it."""
    words = []
    for task in dict.fromkeys(row.task for row in rows):
        own = [row for row in rows if row.task == task]
        if not own[0].signed.least_p <= SIGNIFICANT:
            words.append(f"On {task} too few heads attend so to test them within layers.")
            continue
        sizes = [row for row in own if not isnan(row.size_holm_p)]
        shown = sum(row.holm_p < SIGNIFICANT for row in own)
        large = sum(row.size_holm_p < SIGNIFICANT for row in sizes)
        words.append(
            f"On {task} {shown} of {len(own)} methods show that heads that attend so matter more "
            f"than others of their layers, {large} of {len(sizes)} that their effects are larger "
            "in size."
        )
    return " ".join(words)
