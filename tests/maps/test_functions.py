"""Maps of functions: which heads count for each, and what a causal check says of them."""

from __future__ import annotations

import numpy as np

from headatlas.maps.functions import (
    CAUSAL,
    UNCHECKED,
    head_counts,
    is_probing,
    ranked_heads,
    weak_functions,
    with_marks,
)
from maps.made_maps import effects, importances


def test_heads_are_ranked_by_their_mean_and_missing_ones_left_out():
    head_map = importances([[[[1, 5, np.nan], [2, 0, 3]], [[1, 1, np.nan], [2, 0, 3]]]])
    ranked = ranked_heads(head_map)["f0"]
    assert ranked.heads == ((0, 1), (1, 2), (1, 0), (0, 0), (1, 1))
    assert ranked.chosen == list(ranked.heads[: ranked.elbow])
    assert is_probing(head_map)
    assert not is_probing(effects(np.zeros((1, 2, 2))))


def test_both_rules_are_counted_and_chance_must_be_beaten_in_every_seed():
    values = np.zeros((1, 2, 2, 5))
    values[..., 0, :2] = 5
    p = np.ones_like(values)
    p[:, :, 0, 0] = 0.01
    p[:, 0, 0, 1] = 0.01  # in one seed only
    p[:, :, 1, 4] = 0.01
    count = head_counts(importances(values, p))["f0"]
    assert (count.elbow, count.significant, count.both) == (2, 2, 1)


def test_marks_do_not_change_the_numbers_hash_and_name_weak_functions():
    head_map = importances(np.random.default_rng(0).random((3, 1, 2, 4)))
    marked = with_marks(head_map, {"f0": True, "f1": None}, 64)
    assert marked["causal"].to_numpy().tolist() == [CAUSAL[True], CAUSAL[None], UNCHECKED]
    assert marked.digest == head_map.digest
    assert marked.provenance["causal_questions"] == 64
    assert weak_functions(marked) == ["f1"]
    assert weak_functions(head_map) == []
