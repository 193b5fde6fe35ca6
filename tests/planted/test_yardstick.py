"""The yardstick on the real model with planted saboteurs: a map that knows them, and its reverse.

Only four heads are known, so the map puts them last and all others in a random order; its reverse
puts them first. Both are judged against the orders that the check itself shuffles within layers,
in which the saboteurs are anywhere. The claims were written down before anything was measured.
"""

from __future__ import annotations

import numpy as np
import pytest

from headatlas import Atlas
from headatlas.maps import Map
from headatlas.methods import Ablation
from planted.variants import SABOTEURS, plant

pytestmark = pytest.mark.long

QUESTIONS = 8


@pytest.fixture(scope="module")
def planted(embedded):
    return plant(embedded, saboteurs=SABOTEURS)


@pytest.fixture(scope="module")
def judged(planted, task, tmp_path_factory):
    """The scores of the map that knows the saboteurs, and those of its reverse."""
    spec = planted.spec
    importances = np.random.default_rng(0).random((spec.n_layers, spec.n_heads))
    for head in SABOTEURS:
        importances[head] -= 2
    method = Ablation(heads=((0, 0),), examples=2)
    facts = dict(method.run(planted, task).provenance)

    def scores(values):
        effects = {"effect": (("seed", "layer", "head"), -values[None])}
        atlas = Atlas(tmp_path_factory.mktemp("atlas"), planted, progress=None)
        head_map = Map.of(effects, facts, {"seed": [0]})
        check = atlas.check(head_map, task, kind="faithfulness", questions=QUESTIONS)
        for name, score in check.scores.items():
            drawn = f"{min(score.controls):.3f} … {max(score.controls):.3f}"
            print(f"{name}: {score.value.mean:.3f}, shuffled {drawn}, better {score.better}")
        return check.scores

    return scores(importances), scores(-importances)


def test_removing_the_last_heads_of_the_true_map_gains_more_than_of_any_shuffled_one(judged):
    true, _ = judged
    assert true["gain"].better.low > 0
    assert true["gain"].value.mean > max(true["gain"].controls)


def test_what_the_true_map_calls_removable_is_what_harms_so_the_reverse_gains_least(judged):
    true, reverse = judged
    assert reverse["gain"].value.mean < true["gain"].value.low


def test_keeping_the_saboteurs_first_is_worse_than_any_shuffled_order(judged):
    _, reverse = judged
    assert reverse["cpr"].value.mean < min(reverse["cpr"].controls)
