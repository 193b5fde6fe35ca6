"""The search for the few heads that matter, on functions whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.methods.sparse_search import SparseSearch

STRONG = {3: -9.0, 17: -1.0, 40: -0.8, 41: -0.6, 90: -0.5}


def additive(effects, heads=120, noise=0.01):
    own = np.random.default_rng(0).normal(scale=noise, size=heads)
    for head, effect in effects.items():
        own[head] = effect
    return own, lambda sets: np.array([[own[list(some)].sum()] * 3 for some in sets])


def searched(evaluate, heads=120, budget=60, seed="a"):
    search = SparseSearch(heads, budget, evaluate, seed)
    search.run()
    return search


@pytest.mark.parametrize("seed", ["a", "b", "c", "d"])
def test_strong_heads_are_found_and_measured_alone(seed):
    own, evaluate = additive(STRONG)
    search = searched(evaluate, seed=seed)
    assert set(STRONG) <= set(search.alone)
    for head in STRONG:
        assert search.alone[head] == pytest.approx(own[head])


def test_the_budget_is_kept_to_and_counted():
    calls = []
    _, evaluate = additive(STRONG)

    def counted(sets):
        calls.extend(sets)
        return evaluate(sets)

    search = searched(counted, budget=47)
    assert len(calls) == len(search.removed) == len(search.changes) == 47


def test_every_head_is_removed_as_often_as_any_other():
    _, evaluate = additive({}, heads=50)
    search = SparseSearch(50, 50, evaluate, "a")
    masks = search._masks()
    counts = np.bincount([head for mask in masks for head in mask], minlength=50)
    assert len(masks) == 30
    assert counts.min() >= 3
    assert counts.max() - counts.min() <= 1
    assert len(set(masks)) > 20


def test_heads_that_cannot_be_told_apart_share_what_is_ascribed():
    search = SparseSearch(6, 6, lambda sets: np.zeros((len(sets), 1)), "a")
    search.removed = [(0, 1, 2), (3, 4), (5,)]
    found = search.estimates(np.array([-6.0, -1.0, 0.5]))
    assert found[0] == found[1] == found[2]
    assert found[:3].sum() == pytest.approx(-6.0, abs=0.2)
    assert found[3] == found[4] > found[0]


def test_nothing_is_ascribed_where_nothing_changes():
    search = searched(lambda sets: np.zeros((len(sets), 2)), heads=12, budget=20)
    assert (search.estimates(np.zeros(len(search.removed))) == 0).all()


@pytest.mark.parametrize("seed", ["a", "b", "c"])
def test_heads_that_stand_in_for_each_other_are_found_in_company(seed):
    """Removing either alone changes nothing; removing both costs 5."""

    def evaluate(sets):
        return np.array([[-5.0 * ({4, 9} <= set(some)) - 0.1 * (2 in some)] for some in sets])

    search = searched(evaluate, heads=16, budget=64, seed=seed)
    assert search.alone[4].mean() == search.alone[9].mean() == 0
    assert search.in_company[4].mean() == search.in_company[9].mean() == -5.0
    assert min(v.mean() for h, v in search.in_company.items() if h not in (4, 9)) >= -0.1001


def test_effects_that_add_up_are_not_looked_for_in_company():
    _, evaluate = additive(STRONG)
    assert not searched(evaluate).in_company
