"""The section of docs/results/methods.md on heads that attend as a task needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np
from scipy.stats import mannwhitneyu

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

UNKNOWN = LayerTest()


@dataclass(frozen=True)
class Above:
    """Whether chosen heads are above the rest: above all other heads (Mann–Whitney, one-sided), and
    above others of their own layers (`layers`). `rest_p` and `layers_p` hold for all methods and
    tasks of a model together (Holm), `alone_p` is `rest_p` of this map by itself."""

    layers: LayerTest = UNKNOWN
    alone_p: float = float("nan")
    rest_p: float = float("nan")
    layers_p: float = float("nan")


@dataclass(frozen=True)
class Attending:
    """Heads that attend against the rest, by another map: by importance, and, where that is not
    the same, by its size."""

    task: str
    method: str
    heads: int
    signed: Above
    size: Above


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
    size = _above(np.abs(values), attending) if has_signs else Above()
    return Attending(task, method, int(attending.sum()), _above(values, attending), size)


def _above(values: FloatArray, chosen: np.ndarray) -> Above:
    """The comparisons of one map, not corrected yet."""
    rest = values[~chosen & np.isfinite(values)]
    layers = above_own_layers(values, chosen)
    if isnan(layers.auroc):
        return Above()
    rest_p = float(mannwhitneyu(values[chosen], rest, alternative="greater").pvalue)
    return Above(layers, rest_p, rest_p, layers.p)


def _corrected(rows: list[Attending]) -> list[Attending]:
    """With Holm's correction, over all rows, for each of the claims."""
    signed = _corrected_claims([row.signed for row in rows])
    sizes = _corrected_claims([row.size for row in rows])
    return [
        replace(row, signed=one, size=other)
        for row, one, other in zip(rows, signed, sizes, strict=True)
    ]


def _corrected_claims(claims: list[Above]) -> list[Above]:
    rest = holm(np.array([claim.rest_p for claim in claims]))
    layers = holm(np.array([claim.layers_p for claim in claims]))
    return [
        replace(claim, rest_p=float(p), layers_p=float(own_p))
        for claim, p, own_p in zip(claims, rest, layers, strict=True)
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
            "pairs of such a head and another in which the other method's map has it above. *Above "
            "all*: p-value of that, against all other heads (Mann–Whitney). *Layers alone*: the "
            "AUROC that random heads of the same layers have on average. *Above layers*: how often "
            "those have as high an AUROC. *Size*: the same for |effect|, as a head that attends to "
            "a word may make it less likely; a claim that was made after the one on importance was "
            "seen to fail; empty where nothing is negative. All p-values are one-sided and "
            "corrected for all methods and tasks of the model (Holm); bold below "
            f"{SIGNIFICANT}."
        ),
    ]
    columns = ("task", "heads", "method")
    for prefix in ("", "size: "):
        columns += (f"{prefix}AUROC", "above all", "layers alone", "above layers")
    for model, rows in found.items():
        parts += [f"### {model}", table(columns, map(_cells, rows)), text(_sentence(rows))]
    return parts


def _cells(row: Attending) -> list[str]:
    cells = [row.task, str(row.heads), row.method]
    for claim in (row.signed, row.size):
        auroc, expected = claim.layers.auroc, claim.layers.expected
        cells += ["" if isnan(auroc) else f"{auroc:.2f}", _p(claim.rest_p)]
        cells += ["" if isnan(auroc) else f"{expected:.2f}", _p(claim.layers_p)]
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
        sizes = [row.size for row in own if not isnan(row.size.rest_p)]
        signed = [row.signed for row in own]
        words.append(
            f"On {task} {_shown([claim.rest_p for claim in signed])} methods show that heads that "
            "attend so matter more than all others "
            f"({_shown([claim.alone_p for claim in signed])} if every map is tested by itself), "
            f"{_shown([claim.rest_p for claim in sizes])} that their effects are larger in size."
        )
        if not own[0].signed.layers.least_p <= SIGNIFICANT:
            words.append("Too few heads attend so to test them within layers.")
            continue
        words.append(
            "Compared with others of their own layers, these are "
            f"{_shown([claim.layers_p for claim in signed])} and "
            f"{_shown([claim.layers_p for claim in sizes])}."
        )
    return " ".join(words)


def _shown(p_values: Sequence[float]) -> str:
    return f"{sum(p < SIGNIFICANT for p in p_values)} of {len(p_values)}"
