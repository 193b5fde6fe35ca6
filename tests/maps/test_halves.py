"""What a map's reliability is known by: other seeds, other questions, or nothing."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.maps import Map
from headatlas.maps.halves import ONE_FIT, ONE_SEARCH, ONE_SEED, halves, why_unknown
from maps.made_maps import effects, importances, question_halves

RNG = np.random.default_rng(0)
VALUES = RNG.normal(size=(2, 3, 4, 5))  # half seed layer head


def test_halves_of_a_probing_map_are_other_questions_and_other_seeds():
    values = np.random.default_rng(0).random((1, 2, 3, 4))
    parts = np.random.default_rng(1).random((4, 1, 2, 3, 4))
    plain = importances(values)
    data = plain.data.assign(importance_part=(("part", *plain["importance"].dims), parts))
    sizes = np.array([[3], [1], [1], [2]])
    data = data.assign_coords(part_examples=(("part", "function"), sizes))
    both = halves(Map(data, plain.provenance))
    assert both.factor == 2
    np.testing.assert_allclose(both.one[0], (3 * parts[0, 0, 0] + parts[2, 0, 0]) / 4)
    np.testing.assert_allclose(both.other[0], (parts[1, 0, 1] + 2 * parts[3, 0, 1]) / 3)
    assert why_unknown(importances(values[:, :1])) == ONE_FIT


def test_halves_are_equal_and_an_odd_seed_is_in_neither():
    values = np.random.default_rng(0).random((3, 3, 4))
    both = halves(effects(values))
    np.testing.assert_allclose([-both.one, -both.other], values[:2])
    assert both.factor == 3


@pytest.mark.parametrize("facts", [{}, {"task_form": "plain:chat"}, {"task_form": "icl=3"}])
def test_several_seeds_are_the_halves_of_a_map_of_effects(facts):
    both = halves(question_halves(VALUES, **facts))
    np.testing.assert_allclose([-both.one, -both.other], VALUES.mean(0)[:2])
    assert both.factor == 3


def test_seeds_that_draw_the_same_questions_are_halved_by_questions():
    same = np.repeat(VALUES[:, :1], 2, axis=1)
    both = halves(question_halves(same))
    np.testing.assert_allclose([-both.one, -both.other], same[:, 0])
    np.testing.assert_allclose(
        halves(question_halves(same, task_form="icl=3")).one, both.one * 0 - same[:, 0].mean(0)
    )


def test_one_seed_is_halved_by_questions_only_without_demonstrations():
    alone = VALUES[:, :1]
    both = halves(question_halves(alone, task_form="plain"))
    np.testing.assert_allclose([-both.one, -both.other], alone[:, 0])
    assert both.factor == 2
    assert why_unknown(question_halves(alone, task_form="plain")) == ""
    with_demonstrations = [
        {"task_form": "icl=3"},
        {"task_form": "icl=5:chat"},
        {"task_form": "instruction"},
        {"task": "antonym:icl"},
    ]
    for facts in with_demonstrations:
        assert halves(question_halves(alone, **facts)) is None
        assert why_unknown(question_halves(alone, **facts)) == ONE_SEED
    assert halves(question_halves(alone, task_form="icl=0")) is not None


def test_one_search_for_heads_has_no_halves_but_several_have():
    found = question_halves(VALUES)
    data = found.data.assign(alone=found["effect"] * 0)
    assert why_unknown(Map(data.isel(seed=[0]), found.provenance)) == ONE_SEARCH
    assert halves(Map(data, found.provenance)).factor == 3


def test_seeds_that_all_took_every_question_share_them():
    made = question_halves(VALUES, examples_used=20, settings={"examples": 32})
    whole, drawn = halves(made), halves(question_halves(VALUES, examples_used=32))
    assert not whole.aligned_with(whole)
    assert drawn.aligned_with(drawn)
    too_long = {"examples_used": 20, "examples_too_long": 12, "settings": {"examples": 32}}
    left_out = halves(question_halves(VALUES, **too_long))
    assert left_out.aligned_with(left_out)  # 32 were drawn, 12 could not be used


def test_gates_are_learned_from_the_train_questions():
    gates = halves(effects(VALUES[0], method="gating"))
    assert not gates.independent_of(halves(effects(VALUES[0], split="train")))
    assert gates.independent_of(halves(effects(VALUES[0], split="test")))


def test_the_halves_of_two_maps_share_what_they_were_measured_on():
    alone = VALUES[:, :1]
    one, same = (halves(question_halves(alone, method=name)) for name in ("ablation", "writes"))
    assert one.aligned_with(same)
    assert not one.aligned_with(same.exchanged())
    assert not one.independent_of(same)
    another = halves(question_halves(alone, task="u"))
    assert one.independent_of(another)
    seeds = halves(question_halves(VALUES))
    assert not seeds.independent_of(one)  # seed 0 is in both
    assert not seeds.aligned_with(one)
    fewer = halves(question_halves(VALUES[:, :2], task="t:icl=3"))
    assert seeds.aligned_with(fewer)
    assert not seeds.independent_of(fewer)
    assert halves(effects(VALUES[0], split="test")).independent_of(
        halves(effects(VALUES[0], split="train"))
    )
