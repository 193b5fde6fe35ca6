"""The section of docs/results/methods.md on causal mediation against gating."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

import headatlas as ha
from headatlas.stats.multiple import holm
from markdown import text

ERROR = 0.05
"""The share of false claims over all tasks together."""


def mediation_section(results_of: Mapping[str, Sequence[ha.Mediation]]) -> list[str]:
    """The section, from the results by the name of their model; nothing where there are none."""
    found = {model: most_seeds(results) for model, results in results_of.items() if results}
    if not found:
        return []
    p = holm(np.array([one.layers.p for results in found.values() for one in results]))
    shown = int((p <= ERROR).sum())
    parts = [
        "## Do heads that mediate facilitate?",
        text(
            "Heads whose indirect effect (their clean output in the run of a corrupted prompt) is "
            "above the mean over heads by three standard deviations, against all others, by their "
            "largest facilitation over seeds: figure 4 of Nam et al. 2025, who report t(23.05) = "
            "8.52 on word pairs and t(53.77) = 11.18 on ABA and ABB. Welch's t says little here, "
            "where few heads mediate and the largest facilitation of most heads is near 1; the "
            "verdict rests on random heads of the same layers, corrected for all tasks of the "
            "page (Holm). Other than there: each model and task by itself, log P, the head's own "
            "clean output at the last position. Of gating maps of the same task, the one with most "
            f"seeds. After the correction {shown} of {len(p)} show that heads that mediate "
            "facilitate more than others of their layers."
        ),
    ]
    for model, results in found.items():
        lines = [text(" ".join(f"{line}." for line in one.summary()), "- ") for one in results]
        parts += [f"### {model}", "\n".join(lines)]
    return parts


def most_seeds(results: Sequence[ha.Mediation]) -> list[ha.Mediation]:
    """One result per task, in alphabetical order: that of most seeds."""
    chosen: dict[str, ha.Mediation] = {}
    for result in sorted(results, key=lambda one: (one.seeds, one.maps)):
        chosen[result.task] = result
    return [chosen[task] for task in sorted(chosen)]
