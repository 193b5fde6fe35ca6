"""The section of docs/results/gating.md on why seeds differ: the data, or the first gates."""

from __future__ import annotations

import headatlas as ha
from headatlas.maps.reliability import reliability
from headatlas.stats.reliability import spearman_brown
from markdown import table, text
from stored import atlas_of, maps_of

TASK = "present-past"
RUN = "varied"
"""The run whose seeds differ in one thing only: `headatlas gate --varied start` and `data`."""

DESIGNS = {
    "both": "first gates and data",
    "start": "first gates; the data are the same",
    "data": "data; the first gates are the same",
}


def seeds_section() -> list[str]:
    """How alike two seeds are that differ in one thing, in the other, and in both."""
    maps = {"both": maps_of("default")[TASK]}
    for head_map in atlas_of(RUN).maps().values():
        maps[head_map.provenance["settings"]["varied"]] = head_map
    there = {words: maps[varied] for varied, words in DESIGNS.items() if varied in maps}
    rows = [[words, *_row(head_map)] for words, head_map in there.items()]
    return [
        "### Why do seeds differ?",
        text(
            f"How far the map of one seed of `{TASK}` (default schedule) reproduces in another: "
            "the correlation to expect of two seeds, from halves of all seeds stepped down "
            "(Spearman–Brown), with 95 % intervals over layers and seeds. Seeds differ in their "
            "first gates, in the data (which questions and demonstrations come in which update), "
            "or in both. If only the data made seeds differ, those with the same data would agree "
            "fully; likewise for first gates."
        ),
        table(["what differs", "seeds", "F", "N"], rows),
    ]


def _row(head_map: ha.Map) -> list[str]:
    stated = reliability(head_map)
    cells = [str(stated.seeds)]
    for name in ("facilitation", "interference"):
        score = stated.scores[name]
        low, high = (spearman_brown(end, 1 / stated.seeds) for end in (score.low, score.high))
        cells.append(f"{score.one:.2f} ({low:.2f} … {high:.2f})")
    return cells
