"""The section of docs/results/gating.md on the default schedule of gating."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np

import headatlas as ha
from headatlas.maps.reliability import Reliability, reliability
from headatlas.plots.captions import schedule_text
from headatlas.stats.intervals import Change
from headatlas.stats.reliability import Reproduced, spearman_brown, without_noise
from markdown import table, text
from schedules import SEEN_BEFORE, STATED_ON, TUNED_ON

SCHEDULE_TIMES = "schedule-times.json"
"""Seconds per update, as `tools/schedules.py` measured them."""

GOALS = {"facilitation": 0.95, "interference": 0.9}
"""Correlation with the reference, noise taken out, that a converged default should reach."""

RELIABLE = {"facilitation": 0.9, "interference": 0.8}
UNDECIDED = 0.15
"""Further goals: reliabilities of the mean map, and the most undecided gates."""


def schedule_section(
    default: dict[str, ha.Map], long: dict[str, ha.Map], timed: dict[str, Any]
) -> list[str]:
    """The default schedule against long references, on tasks that it was not tuned on."""
    tasks = [task for task in STATED_ON if task in default and task in long and task in timed]
    rows, outcomes = [], []
    for task in tasks:
        seconds = {
            name: timing["updates"] * timing["seconds_per_update"]
            for name, timing in timed[task].items()
        }
        for name, head_map in (("default", default[task]), ("reference", long[task])):
            stated = reliability(head_map)
            scores = [stated.scores[score] for score in GOALS]
            seeds_in_time = seconds["reference"] / seconds[name]
            if name == "default":
                outcomes.append(_goals_met(task, stated, seeds_in_time))
            rows.append(
                [
                    task,
                    name,
                    str(stated.seeds),
                    f"{seconds[name]:.0f}",
                    f"{stated.seeds * seconds[name]:.0f}",
                    f"{stated.undecided:.0%}",
                    *(score.text for score in scores),
                    " / ".join(_stepped(score, stated.seeds, seeds_in_time) for score in scores),
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
            f"250 + 250 + 250 updates of {_batches()} questions. *Reliability*: "
            "of the mean over all seeds, from halves (Spearman–Brown). *With the reference*: "
            "correlation of the mean maps with their noise taken out, and its 95 % interval over "
            "layers and seeds (in simulations it is too wide where seeds are independent: it "
            "covers the truth more often than in 95 % of cases), and whether the goal is shown to "
            "be reached; only seeds that the reference does not have, so that the two share no "
            "first gates and no order of the data. All use the same train questions. The goals of "
            f"the two last columns were {_goals()}; further goals {UNDECIDED:.0%} undecided gates "
            f"at most, and reliabilities of {RELIABLE['facilitation']} (F) and "
            f"{RELIABLE['interference']} (N), all in less time than one seed of the reference. *In "
            "its time*: what the reliability of F / N would be with as many seeds as that time "
            "allows (one of the reference), with its interval. Undecided: gates of the pushed fits "
            "that are neither open nor closed nor held by the data. Seconds: updates timed in "
            "turns in one run on both cores."
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
        "\n".join(text(line, "- ") for line in [*outcomes, *_warned(tasks, long)]),
    ]


def _stepped(score: Reproduced, seeds: int, seeds_in_time: float) -> str:
    """The reliability of another number of seeds, with its interval."""
    factor = seeds_in_time / seeds
    middle, low, high = (
        spearman_brown(value, factor) for value in (score.mean_map, score.low, score.high)
    )
    return f"{middle:.2f} ({low:.2f} … {high:.2f})"


def _goals_met(task: str, stated: Reliability, seeds_in_time: float) -> str:
    """Whether the goals other than agreement with the reference are met, by the estimates."""
    in_time = {name: spearman_brown(stated.scores[name].one, seeds_in_time) for name in RELIABLE}
    met = {
        f"{stated.undecided:.1%} undecided gates": stated.undecided <= UNDECIDED,
        **{
            f"reliability of {name} with {stated.seeds} seeds": (
                stated.scores[name].mean_map >= least
            )
            for name, least in RELIABLE.items()
        },
        **{
            f"reliability of {name} in the time of one reference seed": in_time[name] >= least
            for name, least in RELIABLE.items()
        },
    }
    reached = [words for words, is_met in met.items() if is_met]
    missed = [words for words, is_met in met.items() if not is_met]
    return (
        f"{task}, by the estimates: goals met: {', '.join(reached) or 'none'}; missed: "
        f"{', '.join(missed) or 'none'}."
    )


def _warned(tasks: list[str], long: dict[str, ha.Map]) -> list[str]:
    """What the references themselves warn of."""
    return [
        f"The reference of {task}: {'; '.join(warnings)}."
        for task in tasks
        if (warnings := reliability(long[task]).warnings)
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
        interval = f"{correlation.mean:.2f} ({correlation.low:.2f} … {correlation.high:.2f})"
        cells.append(f"{interval}: {_reached(correlation, goal)}")
    return cells


def _reached(correlation: Change, goal: float) -> str:
    """Whether an interval shows that a goal is reached.

    >>> _reached(Change(0.9, 0.8, 1.0), 0.95)
    'undecided, estimate below the goal'
    """
    if isnan(correlation.low):
        return "no interval, too few seeds"
    if correlation.low >= goal:
        return "reached"
    if correlation.high < goal:
        return "not reached"
    where = "below" if correlation.mean < goal else "above"
    return f"undecided, estimate {where} the goal"


def _values(scores: Any) -> np.ndarray[Any, Any]:
    return np.asarray(scores.transpose("seed", "layer", "head").to_numpy())


def _batches() -> str:
    """The questions per update of every task's reference: 16 (present-past, ioi) and 8 (syntax)."""
    sizes = dict.fromkeys(STATED_ON.values())
    return _listed(
        f"{size} ({', '.join(task for task in STATED_ON if STATED_ON[task] == size)})"
        for size in sizes
    )


def _listed(words: Any) -> str:
    *first, last = (str(word) for word in dict.fromkeys(words))
    return f"{', '.join(first)} and {last}" if first else last
