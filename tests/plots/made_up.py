"""Small made-up maps and results, one for every kind of figure."""

from __future__ import annotations

import numpy as np

from headatlas.checks.results import (
    About,
    ContrastCheck,
    Contrasted,
    FunctionCheck,
    GatingCheck,
    ProbeReport,
)
from headatlas.checks.results.functions import MaskingRow, Specificity, StrengtheningRow
from headatlas.checks.results.gating import Curve, Toggling
from headatlas.maps import Comparison, Map
from headatlas.maps.compare import AgreementRow
from headatlas.maps.roles import SCORES
from headatlas.stats.intervals import Change
from headatlas.tasks.functions import FUNCTIONS

STAGES = ("free", "plus", "minus")
ABOUT = About("map", "hash", "model", "cognition", 40)


def ablation_map(values=None, variable="effect", dims=("seed", "layer", "head"), **facts):
    values = np.random.default_rng(0).normal(size=(2, 5, 4)) if values is None else values
    facts = {"model": "/deep/folder/model", "task": "task", "method": "ablation", **facts}
    return Map.of({variable: (dims, values)}, facts)


def gating_map(layers=5, heads=9, seeds=2, task="math", **facts):
    plus, minus = np.random.default_rng(0).random((2, seeds, layers, heads))
    dims = ("seed", "layer", "head")
    path = np.random.default_rng(1).random((seeds, 3, 4, layers, heads))
    return Map.of(
        {
            "facilitation": (dims, minus),
            "interference": (dims, 1 - plus),
            "irrelevance": (dims, plus * (1 - minus)),
            "gate_plus": (dims, plus),
            "gate_minus": (dims, minus),
            "gate_path": (("seed", "stage", "point", "layer", "head"), path),
        },
        {
            "model": "owner/model",
            "task": task,
            "method": "gating",
            "seeds": [*range(seeds)],
            **facts,
        },
        {
            "seed": range(seeds),
            "stage": list(STAGES),
            "point_step": (("stage", "point"), np.tile([0, 2, 3, -1], (3, 1))),
            "loss": (("seed", "stage", "step"), np.ones((seeds, 3, 3))),
        },
    )


def probing_map(names=FUNCTIONS, layers=8, heads=9, seeds=2, **facts):
    values = np.random.default_rng(0).gamma(0.3, 0.001, (len(names), seeds, layers, heads))
    dims = ("function", "seed", "layer", "head")
    return Map.of(
        {"importance": (dims, values), "importance_p": (dims, np.ones_like(values))},
        {"model": "owner/model", "task": "cognition", "method": "probing", **facts},
        {"function": list(names), "seed": range(seeds)},
    )


def change(mean, half_width=0.1):
    return Change(mean, mean - half_width, mean + half_width)


def gating_check(task="math"):
    """Two seeds, three points; two heads have each role."""
    curves = tuple(
        Curve(score, (1, 2, 4), ((0.0, -1.0, -2.0), (0.0, -2.0, -3.0)), -1.5, -2.0, -1.0, 2.0)
        for score in SCORES
    )
    holds = dict.fromkeys(SCORES, None)
    return GatingCheck(About("map", "hash", "model", task, 40), (), Toggling(2, 40, curves, holds))


def function_check(names=FUNCTIONS[:3]):
    """Masking k heads costs 0.2 k more than random ones; own heads matter most; pushing by s
    changes log P by s."""
    none = change(0.0)
    masking = [
        MaskingRow(
            name, k, k == 5, 9, 4, change(-0.2 * k - 0.1), -0.1, change(-0.2 * k),
            0.5, none, 0.0, none, True,
        )
        for name in names
        for k in (1, 5)
    ]  # fmt: skip
    table = tuple(tuple(change(-0.5 * (one == other) - 0.05) for other in names) for one in names)
    counts = tuple(range(1, len(names) + 1))
    pushed = [
        StrengtheningRow(name, 2, strength, change(strength), 0.5, none)
        for name in names
        for strength in (1.0, -1.0)
    ]
    return FunctionCheck(
        ABOUT, 90, 40, 4, tuple(masking), Specificity(tuple(names), counts, (), table, table),
        (), tuple(pushed), (), {},
    )  # fmt: skip


def probe_report():
    """Three functions; the last has no example."""
    confusion = ((0.75, 0.25, 0.0), (0.5, 0.5, 0.0), (float("nan"),) * 3)
    return ProbeReport(
        ABOUT, tuple(FUNCTIONS[:3]), 90, 40, 2, 0.625, 0.55, 0.70, 1 / 3, {}, confusion
    )


def contrast_check():
    """Two pairs: each form of a task is kept while the other is forgotten."""
    intervals = ((0.85, 0.95), (0.7, 0.9), (0.6, 0.8), (0.0, 0.1))
    pairs = [
        Contrasted(kept, lost, (), 0.9, 0.8, 0.7, 0.0, 40, 2, *intervals, True, True)
        for kept, lost in (
            ("antonym:icl", "antonym:instruction"),
            ("antonym:instruction", "antonym:icl"),
        )
    ]
    return ContrastCheck("model", ("map",), tuple(pairs))


def comparison(names=FUNCTIONS, kinds=("probing", "ablation", "gating"), task="cognition"):
    """Three kinds of map, pair by pair; without functions if `names` is (None,)."""
    pairs = [(one, other) for i, one in enumerate(kinds) for other in kinds[i + 1 :]]
    rows = [
        AgreementRow(pair, name, 72, 0.2, 0.1, 0.4, 0.1, -0.1, 0.2, 10, 0.3, 0.1, 0.5, 0.14)
        for name in names
        for pair in pairs
    ]
    return Comparison(tuple(kinds), "model", task, tuple(rows))
