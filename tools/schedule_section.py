"""The section of docs/results/gating.md on the default schedule of gating."""

from __future__ import annotations

from typing import Any

import numpy as np

import headatlas as ha
from headatlas.maps.reliability import reliability
from headatlas.plots.captions import schedule_text
from headatlas.stats.reliability import spearman_brown, without_noise
from markdown import table, text
from schedules import SEEN_BEFORE, STATED_ON, TUNED_ON

SCHEDULE_TIMES = "schedule-times.json"
"""Seconds per update, as `tools/schedules.py` measured them."""

GOALS = {"facilitation": 0.95, "interference": 0.9}
"""Correlation with the reference, noise taken out, that a converged default should reach."""


def schedule_section(
    default: dict[str, ha.Map], long: dict[str, ha.Map], timed: dict[str, Any]
) -> list[str]:
    """The default schedule against long references, on tasks that it was not tuned on."""
    tasks = [task for task in STATED_ON if task in default and task in long and task in timed]
    rows = []
    for task in tasks:
        seconds = {
            name: timing["updates"] * timing["seconds_per_update"]
            for name, timing in timed[task].items()
        }
        for name, head_map in (("default", default[task]), ("reference", long[task])):
            stated = reliability(head_map)
            scores = [stated.scores[score] for score in GOALS]
            seeds_in_time = seconds["reference"] / seconds[name]
            rows.append(
                [
                    task,
                    name,
                    str(stated.seeds),
                    f"{seconds[name]:.0f}",
                    f"{stated.seeds * seconds[name]:.0f}",
                    f"{stated.undecided:.0%}",
                    *(score.text for score in scores),
                    " / ".join(
                        f"{spearman_brown(score.one, seeds_in_time):.2f}" for score in scores
                    ),
                    *(_against(default[task], long[task]) if name == "default" else ["", ""]),
                ]
            )
    schedule = schedule_text(next(iter(default.values())))
    return [
        "## The default schedule against long references",
        text(
            f"The default ({schedule}) was chosen on {_listed(TUNED_ON)}; this table has other "
            f"tasks. For {_listed(SEEN_BEFORE)} it is a second look: an earlier candidate had been "
            "compared with references of theirs. References have the published learning rates and "
            f"250 + 250 + 250 updates of {_listed(STATED_ON.values())} questions. *Reliability*: "
            "of the mean over all seeds, from halves (Spearman–Brown). *With the reference*: "
            "correlation of the mean maps with their noise taken out, and its 95 % interval over "
            "heads and seeds, and whether the goal is reached; only seeds that the reference does "
            "not have, so that the two share no first gates and no order of the data. All use the "
            f"same train questions. The goals of the two last columns were {_goals()}; further "
            "goals at most 15 % undecided gates, and reliabilities of 0.9 (F) and 0.8 (N), all in "
            "less time than one seed of the reference. *In its time*: what the reliability of F / "
            "N would be with as many seeds as that time allows (one of the reference). Undecided: "
            "gates of the pushed fits that are neither open nor closed nor held by the data. "
            "Seconds: updates timed in turns in one run on both cores."
        ),
        table(
            [
                "task",
                "schedule",
                "seeds",
                "s per seed",
                "s in all",
                "undecided",
                "reliability F",
                "reliability N",
                "F / N in its time",
                "F with the reference",
                "N with the reference",
            ],
            rows,
        ),
    ]


def _goals() -> str:
    return " and ".join(f"at least {goal} ({name})" for name, goal in GOALS.items())


def _against(default: ha.Map, long: ha.Map) -> list[str]:
    """Correlations of the default's other seeds with the reference, noise taken out."""
    known = set(long["seed"].to_numpy().tolist())
    others = [seed for seed in default["seed"].to_numpy().tolist() if seed not in known]
    cells = []
    for name, goal in GOALS.items():
        one, other = (_values(head_map[name]) for head_map in (default.sel(seed=others), long))
        correlation = without_noise(one, other)
        reached = "reached" if correlation.mean >= goal else "missed"
        if correlation.low < goal <= correlation.high:
            reached += ", within the interval"
        cells.append(
            f"{correlation.mean:.2f} ({correlation.low:.2f} … {correlation.high:.2f}): {reached}"
        )
    return cells


def _values(scores: Any) -> np.ndarray[Any, Any]:
    return np.asarray(scores.transpose("seed", "layer", "head").to_numpy())


def _listed(words: Any) -> str:
    *first, last = (str(word) for word in dict.fromkeys(words))
    return f"{', '.join(first)} and {last}" if first else last
