"""Small made-up maps and results, one for every kind of figure."""

from __future__ import annotations

import numpy as np

from headatlas.checks.results import (
    About,
    ContrastCheck,
    Contrasted,
    Faithfulness,
    FunctionCheck,
    GatingCheck,
    Leaderboard,
    ProbeReport,
    Standing,
    TaskSpecificity,
)
from headatlas.checks.results.faithfulness import CurveScore, RemovalCurve
from headatlas.checks.results.functions import (
    MaskingRow,
    Order,
    Specificity,
    Strengthening,
    StrengtheningRow,
    TriedStrength,
)
from headatlas.checks.results.gating import Curve, Toggling
from headatlas.checks.results.probe import Control
from headatlas.maps import Comparison, Map, Mediation
from headatlas.maps.comparison import AgreementRow
from headatlas.maps.mediation import MediationRow
from headatlas.maps.roles import SCORES
from headatlas.stats.faithfulness import HIGHER_IS_BETTER
from headatlas.stats.intervals import Change
from headatlas.stats.within_layers import LayerTest
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


def trusted_map(**facts):
    """A gating map that has nothing to say against itself: gates are decided, seeds agree."""
    made = gating_map(seeds=3, **facts)
    rng = np.random.default_rng(2)
    plus, minus = (
        np.tile(np.where(rng.random((5, 9)) < 0.5, 0.01, 0.99), (3, 1, 1)) for _ in range(2)
    )
    path = made.data["gate_path"].copy()
    for stage, gates in (("plus", plus), ("minus", minus)):
        path.loc[{"stage": stage, "point": 2}] = gates
    dims = ("seed", "layer", "head")
    scores = {"facilitation": minus, "interference": 1 - plus, "irrelevance": plus * (1 - minus)}
    changed = {name: (dims, values) for name, values in scores.items()}
    return Map(made.data.assign(changed | {"gate_path": path}), made.provenance)


def probing_map(names=FUNCTIONS, layers=8, heads=9, seeds=2, p=1.0, **facts):
    values = np.random.default_rng(0).gamma(0.3, 0.001, (len(names), seeds, layers, heads))
    dims = ("function", "seed", "layer", "head")
    return Map.of(
        {"importance": (dims, values), "importance_p": (dims, np.full_like(values, p))},
        {"model": "owner/model", "task": "cognition", "method": "probing", **facts},
        {"function": list(names), "seed": range(seeds)},
    )


def change(mean, half_width=0.1):
    return Change(mean, mean - half_width, mean + half_width)


def gating_check(task="math"):
    """Two seeds, three points, two draws of random heads; the verdict is read at two heads."""
    curves = tuple(
        Curve(
            score, 2, (1.0, 2.0, 4.0), ((0.0, -1.0, -2.0), (0.0, -2.0, -3.0)),
            ((0.0, -0.5, -1.0), (0.0, 0.5, -2.0)), 1, change(-1.5, 0.5), change(0.0), change(-1.5),
            5.0, 1.0,
        )
        for score in SCORES
    )  # fmt: skip
    holds = dict.fromkeys(SCORES, None)
    toggling = Toggling(2, 40, 10, 8, 0.95, 2.0, curves, holds)
    return GatingCheck(About("map", "hash", "model", task, 40), (), toggling)


def function_check(names=FUNCTIONS[:3]):
    """Masking costs 1 more than random heads, which cost 0.1 ± 0.05; own heads matter most; pushing
    helps by 0.5, and 0.4 more than random directions do."""
    none = change(0.0)
    masking = [
        MaskingRow(
            name, 5, 6, (2,), 0.9, 9, change(-1.1), (-0.15, -0.1, -0.05), change(-1.0),
            -0.3, change(-0.8), 0.5, none, 0.0, none, True,
        )
        for name in names
    ]  # fmt: skip
    table = tuple(tuple(change(-0.5 * (one == other) - 0.05) for other in names) for one in names)
    order = Order(4, change(-0.8), change(-1.2), change(0.4), change(0.3), ())
    pushed = tuple(
        StrengtheningRow(name, 5, 9, change(0.5), change(0.4), change(0.2), 0.5, none)
        for name in names
    )
    return FunctionCheck(
        ABOUT, 0.95, 90, 40, 0, 3, tuple(masking),
        Specificity(tuple(names), 4, table, (), (1,) * len(names), 0.01, 0.02),
        order, Strengthening(0.5, (TriedStrength(0.5, change(0.3)),), 3, pushed), {},
    )  # fmt: skip


def probe_report():
    """Three functions; the last has no example."""
    confusion = ((0.75, 0.25, 0.0), (0.5, 0.5, 0.0), (float("nan"),) * 3)
    texts = {
        "prompt": Control(0.4, 0.225, 0.1, 0.35, True),
        "answer": Control(0.6, 0.025, -0.1, 0.15, None),
    }
    streams = {
        0: Control(0.5, 0.125, 0.02, 0.23, True),
        4: Control(0.7, -0.075, -0.1, -0.05, False),
    }
    controls = {
        "majority": Control(0.35, 0.275, 0.2, 0.35, True),
        "place": Control(0.5, 0.125, 0.02, 0.23, True),
        "shuffled": Control(0.3, 0.325, 0.2, 0.45, True),
    }
    return ProbeReport(
        ABOUT, tuple(FUNCTIONS[:3]), 90, 40, 2, 0.625, 0.55, 0.70, 1 / 3, texts, streams, controls,
        confusion,
    )  # fmt: skip


def contrast_check():
    """Two pairs: each form of a task is kept while the other is forgotten."""
    intervals = ((0.85, 0.95), (0.7, 0.9), (0.6, 0.8), (0.0, 0.1))
    extra = (10, (0.8, 0.8), (0.0, 0.0), 0.5, 0.5, 0.02, 0.02, (0.3, 0.5), (0.1, 0.2))
    pairs = [
        Contrasted(kept, lost, (), 0.9, 0.8, 0.7, 0.0, 40, 2, *intervals, *extra)
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
        AgreementRow(pair, name, 72, 0.2, 0.1, 0.4, 0.1, -0.1, 0.2, 10, 0.3, 0.02, 0.14)
        for name in names
        for pair in pairs
    ]
    return Comparison(tuple(kinds), "model", task, tuple(rows))


def mediation(task="math", mediating=2, seeds=3, warnings=()):
    """Ten heads of one layer with the effects 9, 8, …, 0; all F are 0.1, those that mediate 0.9."""
    rows = tuple(
        MediationRow(4, head, 9.0 - head, 0.9 if head < mediating else 0.1, head < mediating)
        for head in range(10)
    )
    tested = (8.5, 23.05, 1e-8, 0.001) if mediating > 1 else (float("nan"),) * 4
    layers = LayerTest(0.9, 0.6, 0.001, 0.001) if mediating else LayerTest()
    return Mediation(
        ("one", "other"), "model", task, "indirect effect", seeds, 9.5 - mediating, 0.9, 0.1,
        change(0.8), *tested[:3], rows, layers, warnings,
    )  # fmt: skip


def faithfulness(task="math", method="ablation"):
    """Two questions after two prompts, and one shuffled order."""
    shares = (0.5, 1.0)
    curve = RemovalCurve(shares, (2, 4), (change(0.5), change(1.0)), ((0.3, 1.0),))
    score = CurveScore(change(0.7), (0.4,), change(0.3), (0.001, 5.0))
    return Faithfulness(
        About("map", "hash", "model", task, 2), "mean", "logprob", 2, 0, "model hash",
        f"{task} hash", "questions hash", (0, 1), shares, -1.0, -3.0, change(2.0), curve,
        curve, dict.fromkeys(HIGHER_IS_BETTER, score), ((-2.0, -2.0), (-1.0, -1.0)), (-1.0, -1.0),
        (-3.0, -3.0), 64.0, method, 0.9,
    )  # fmt: skip


def task_specificity():
    """Two tasks, each of which loses most with its own heads."""
    loss = ((change(0.8), change(0.3)), (change(0.2), change(0.9)))
    return TaskSpecificity(
        "model", "ablation", ("math.ablation", "syntax.ablation"), ("one", "two"),
        ("math", "syntax"), 0.05, 13, 24, "mean", "logprob", loss, change(0.6), 0.5, 1.0, 0.2,
    )  # fmt: skip


def leaderboard():
    """Two methods on two tasks: ablation serves, the other is behind."""
    none = change(0.0, 0.0)
    rows = [
        Standing(
            task, method, f"{task}.{method}", dict.fromkeys(HIGHER_IS_BETTER, change(0.7 - lost)),
            dict.fromkeys(HIGHER_IS_BETTER, True),
            dict.fromkeys(HIGHER_IS_BETTER, change(lost) if lost else none),
            dict.fromkeys(HIGHER_IS_BETTER, (f"{task}.ablation",) if lost else ()), 0.95, 0.9, 64.0,
            10.0,
        )
        for task in ("math", "syntax")
        for method, lost in (("ablation", 0.0), ("attention", 0.4))
    ]  # fmt: skip
    return Leaderboard("model", "model hash", "mean", "logprob", 24, tuple(rows))
