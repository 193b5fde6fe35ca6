"""The yardstick tells true maps from random and reversed ones.

Heads are replaced by zero, as they were when the truth was found. A random map is compared with the
orders shuffled within layers that the check itself draws: its 95 % interval should cover no
difference, in at least `COVERED` of `RANDOM_MAPS` (binomial: fewer has a probability below 2 %).

That the reversed map is the worst of all is claimed where the task does not need heads of two
layers in turn. On `induction` it is not so: half a circuit is worse than none. With only the head
that fetches the answer the model says a wrong word for sure, with no head it does not know; some
random orders keep that head first, the reversed one keeps it last. What makes it so is asserted
instead. `tests/planted/test_yardstick.py` has heads whose presence harms.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from ground_truth.puzzles import PUZZLES
from ground_truth.trained import ALL_HEADS, HEADS, LAYERS
from ground_truth.truth import attention, attention_to_answer, fresh_rows, without
from headatlas import Atlas
from headatlas.maps import Map
from headatlas.methods import Ablation

pytestmark = pytest.mark.long

RANDOM_MAPS, COVERED = 10, 8


@pytest.fixture(scope="module")
def cpr(known, tmp_path_factory):
    """The CPR of importances (layer × head), as a map of a puzzle."""

    def score(name, importances):
        own = known(name)
        facts = dict(Ablation().run(own.model, own.task).provenance)
        effects = {"effect": (("seed", "layer", "head"), -np.asarray(importances)[None])}
        atlas = Atlas(tmp_path_factory.mktemp("atlas"), own.model, progress=None)
        head_map = Map.of(effects, facts, {"seed": [0]})
        check = atlas.check(head_map, own.task, kind="faithfulness", replacement="zero")
        return check.scores["cpr"]

    return score


@pytest.fixture(scope="module")
def true_importances(known):
    def importances(name):
        truth = known(name).truth
        return np.array([[truth.extra_cost((i, j)) for j in range(HEADS)] for i in range(LAYERS)])

    return importances


@pytest.fixture(scope="module")
def random_scores(cpr):
    @cache
    def scores(name):
        draws = [np.random.default_rng(i).random((LAYERS, HEADS)) for i in range(RANDOM_MAPS)]
        return [cpr(name, draw) for draw in draws]

    return scores


@pytest.mark.parametrize("name", PUZZLES)
def test_the_true_map_is_best(name, cpr, true_importances, random_scores):
    true = cpr(name, true_importances(name)).value.mean
    others = [score.value.mean for score in random_scores(name)]
    print(f"{name}: CPR {true:.3f}, random maps {min(others):.3f} … {max(others):.3f}")
    assert true > max(others)


@pytest.mark.parametrize("name", PUZZLES)
def test_the_reversed_map_is_far_below_the_true_one(name, cpr, true_importances):
    """Weaker than being the worst of all, and stated after that was seen not to hold."""
    true, reverse = (cpr(name, sign * true_importances(name)) for sign in (1, -1))
    assert reverse.value.high < true.value.low


@pytest.mark.parametrize("name", ["marker", "selection"])
def test_the_reversed_map_is_worst(name, cpr, true_importances, random_scores):
    """Written down before it was measured on these two."""
    reverse = cpr(name, -true_importances(name)).value.mean
    others = sorted(score.value.mean for score in random_scores(name))
    print(f"{name}: CPR reversed {reverse:.3f}, random maps {np.round(others, 3).tolist()}")
    assert reverse < others[0]


def test_half_the_circuit_of_induction_is_worse_than_none(known):
    """Why the reversed map is not the worst there."""
    own, rows = known("induction"), fresh_rows(PUZZLES["induction"])
    looks = attention_to_answer(attention(own.trained.hf, rows), rows)
    fetches = max(sorted(own.truth.responsible), key=lambda head: float(looks[head]))

    @torch.no_grad()
    def logprob(kept):
        with without(own.trained.hf, [head for head in ALL_HEADS if head not in kept]):
            logits = own.trained.hf(rows.prompts).logits[:, -1]
        return float(logits.log_softmax(-1).gather(1, rows.targets[:, None]).mean())

    print(f"log P with {fetches} alone {logprob([fetches]):.2f}, with no head {logprob([]):.2f}")
    assert logprob([fetches]) < logprob([]) - 1


def test_random_maps_are_like_shuffled_orders(random_scores):
    scores = random_scores("induction")
    covered = [score.better.low <= 0 <= score.better.high for score in scores]
    assert sum(covered) >= COVERED
