"""The yardstick tells true maps from random and reversed ones.

Heads are replaced by zero, as they were when the truth was found. A random map is compared with the
orders shuffled within layers that the check itself draws: its 95 % interval should cover no
difference, in at least `COVERED` of `RANDOM_MAPS` (binomial: fewer has a probability below 2 %).
"""

from __future__ import annotations

import numpy as np
import pytest

from ground_truth.trained import HEADS, LAYERS
from headatlas import Atlas
from headatlas.maps import Map
from headatlas.methods import Ablation

pytestmark = pytest.mark.long

RANDOM_MAPS, COVERED = 10, 8


@pytest.fixture(scope="module")
def cpr(known, tmp_path_factory):
    """The CPR of importances (layer × head), as a map of induction."""
    own = known("induction")
    facts = dict(Ablation().run(own.model, own.task).provenance)

    def score(importances):
        effects = {"effect": (("seed", "layer", "head"), -np.asarray(importances)[None])}
        atlas = Atlas(tmp_path_factory.mktemp("atlas"), own.model, progress=None)
        head_map = Map.of(effects, facts, {"seed": [0]})
        check = atlas.check(head_map, own.task, kind="faithfulness", replacement="zero")
        return check.scores["cpr"]

    return score


@pytest.fixture(scope="module")
def true_importances(known):
    truth = known("induction").truth
    return np.array([[truth.extra_cost((i, j)) for j in range(HEADS)] for i in range(LAYERS)])


@pytest.fixture(scope="module")
def random_scores(cpr):
    draws = [np.random.default_rng(i).random((LAYERS, HEADS)) for i in range(RANDOM_MAPS)]
    return [cpr(draw) for draw in draws]


def test_the_true_map_is_best(cpr, true_importances, random_scores):
    assert cpr(true_importances).value.mean > max(score.value.mean for score in random_scores)


def test_the_reversed_map_is_far_below_the_true_one(cpr, true_importances):
    """Weaker than being the worst of all, and stated after that was seen not to hold."""
    true, reverse = cpr(true_importances), cpr(-true_importances)
    assert reverse.value.high < true.value.low


@pytest.mark.xfail(
    reason="half a circuit is worse than none: with only the head that fetches the answer, log P "
    "is -8.6, with no head -4.2. Some random orders keep it first; the reversed one keeps it last",
    raises=AssertionError,
)
def test_the_reversed_map_is_worst(cpr, true_importances, random_scores):
    assert cpr(-true_importances).value.mean < min(score.value.mean for score in random_scores)


def test_random_maps_are_like_shuffled_orders(random_scores):
    covered = [score.better.low <= 0 <= score.better.high for score in random_scores]
    assert sum(covered) >= COVERED
