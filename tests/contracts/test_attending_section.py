"""Heads that attend against the rest: from made maps in which they are above, or are not."""

from __future__ import annotations

import re

import numpy as np
import pytest

from attending_section import attending_heads, attending_rows, attending_section
from headatlas.maps import Map

LAYERS, HEADS = 10, 8
PLANTED = ((2, 3), (4, 1), (7, 0), (7, 5))
DIMS = ("seed", "layer", "head")


def noise(seed=0):
    return np.random.default_rng(seed).normal(size=(2, LAYERS, HEADS))


def attention(task="induction", score="induction"):
    """Two seeds; the planted heads attend as the task needs."""
    values = 0.01 * noise()
    for layer, head in PLANTED:
        values[:, layer, head] += 1
    other = {"previous_token": (DIMS, noise(9))}
    return Map.of({score: (DIMS, values)} | other, {"method": "attention", "task": task})


def effects(task="induction", planted=-9.0, seed=1, method="ablation", **settings):
    values = noise(seed)
    for number, (layer, head) in enumerate(PLANTED):
        values[:, layer, head] = planted if np.isscalar(planted) else planted[number]
    facts = {"method": method, "task": task, "settings": settings}
    return Map.of({"effect": (DIMS, values)}, facts)


def test_heads_attend_whose_mean_score_stands_out():
    found = attending_heads(attention(), "induction")
    assert set(map(tuple, np.argwhere(found).tolist())) == set(PLANTED)


def test_a_map_shows_that_they_matter_where_they_do():
    rows = attending_rows([attention(), effects(), effects(planted=9.0, method="patching")])
    needed, harmful = rows
    assert (needed.method, needed.task, needed.heads) == ("ablation", "induction", 4)
    assert needed.signed.layers.auroc == 1.0
    assert needed.signed.layers.expected == pytest.approx(0.5, abs=0.2)
    assert max(needed.signed.rest_p, needed.signed.layers_p) < 0.01
    assert harmful.signed.layers.auroc == 0.0  # removing them helps: they matter in size only
    assert min(harmful.signed.rest_p, harmful.signed.layers_p) > 0.9
    assert harmful.size.layers.auroc == 1.0
    assert max(harmful.size.rest_p, harmful.size.layers_p) < 0.01


def test_p_values_hold_for_all_maps_and_tasks_together():
    alone = attending_rows([attention(), effects()])[0]
    maps = [
        attention(),
        effects(),
        effects(seed=2, replacement="mean"),
        attention("ioi", "target_token"),
        effects("ioi", seed=3),
    ]
    rows = attending_rows(maps)
    assert [row.task for row in rows] == ["induction", "induction", "ioi"]
    assert rows[0].signed.layers.p == alone.signed.layers.p == alone.signed.layers_p
    assert rows[0].signed.layers_p == pytest.approx(3 * alone.signed.layers_p)
    assert rows[0].signed.rest_p == pytest.approx(3 * alone.signed.rest_p)
    assert rows[0].signed.alone_p == alone.signed.rest_p


def test_size_is_not_tested_where_nothing_is_negative():
    scores = Map.of({"facilitation": (DIMS, np.abs(noise()))}, {"method": "gating", "task": "ioi"})
    (row,) = attending_rows([attention("ioi", "target_token"), scores])
    assert np.isnan(row.size.rest_p)
    assert np.isnan(row.size.layers_p)
    assert np.isfinite(row.signed.rest_p)


def test_the_section_counts_what_is_shown_and_is_left_out_without_attention():
    section = "\n".join(attending_section({"A": [attention(), effects()], "B": [effects()]}))
    said = " ".join(section.split())
    assert "### A" in section
    assert "### B" not in section
    assert re.search(
        r"\| induction \| 4 \| ablation \| 1\.00 \| \*\*\S+ \| 0\.\d\d \| \*\*", section
    )
    assert "On induction 1 of 1 methods show that heads that attend so matter more than all" in said
    assert "Compared with others of their own layers, these are 1 of 1 and 1 of 1" in said
    assert attending_section({"B": [effects()]}) == []


def test_depth_alone_is_not_shown():
    """Heads of the layer that matters most, which are like the others of it."""
    deep = noise(1)
    deep[:, 7] -= 20
    own = attention().data["induction"].to_numpy() * 0
    own[:, 7, [0, 5]] = 1
    looks = Map.of({"induction": (DIMS, own)}, {"method": "attention", "task": "induction"})
    map_of = Map.of({"effect": (DIMS, deep)}, {"method": "ablation", "task": "induction"})
    (row,) = attending_rows([looks, map_of])
    assert row.signed.layers.auroc > 0.9
    assert row.signed.layers.expected > 0.9
    assert row.signed.rest_p < 0.05
    assert row.signed.layers_p > 0.05


def test_nothing_is_claimed_of_a_single_head():
    flat = attention().data["induction"].to_numpy() * 0
    flat[:, 2, 3] = 1
    one = Map.of({"induction": (DIMS, flat)}, {"method": "attention", "task": "induction"})
    section = " ".join("\n".join(attending_section({"A": [one, effects()]})).split())
    assert "Too few heads attend so to test them within layers" in section
    assert "NaN" not in section
    assert "nan" not in section
