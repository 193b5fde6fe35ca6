"""How many heads count, and where the next seed is expected."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headatlas.maps import Map
from headatlas.maps.aggregate import next_interval
from headatlas.maps.causes import CAUSES, causes_of, mark_causes, weak_functions
from headatlas.maps.functions import elbow, function_table, head_counts, is_probing, ranked_heads

DIMS = ("function", "seed", "layer", "head")


def probing(values, p=None):
    values = np.asarray(values, float)
    names = [f"f{i}" for i in range(len(values))]
    p = np.ones_like(values) if p is None else np.asarray(p, float)
    return Map.of(
        {"importance": (DIMS, values), "importance_p": (DIMS, p)},
        {},
        {"function": names, "seed": range(values.shape[1])},
    )


def test_the_elbow_lies_where_the_curve_bends():
    steep = np.array([[10, 9, 8, 0.2, 0.1], [0.05, 0.04, 0.03, 0.02, 0.0]])
    values = xr.DataArray(np.random.default_rng(0).permuted(steep), dims=("layer", "head"))
    assert elbow(values) == 3
    flat = xr.DataArray(np.ones((2, 3)), dims=("layer", "head"))
    assert elbow(flat) == 0
    missing = values.copy()
    missing[0, 0] = np.nan
    assert 0 < elbow(missing) <= 3


def test_heads_are_ranked_by_their_mean_and_missing_ones_left_out():
    drawn = probing([[[[1, 5, np.nan], [2, 0, 3]], [[1, 1, np.nan], [2, 0, 3]]]])
    ranked = ranked_heads(drawn)["f0"]
    assert ranked.heads == ((0, 1), (1, 2), (1, 0), (0, 0), (1, 1))
    assert is_probing(drawn)


def test_both_rules_are_counted_and_chance_must_be_beaten_in_every_seed():
    values = np.zeros((1, 2, 2, 5))
    values[..., 0, :2] = 5
    p = np.ones_like(values)
    p[:, :, 0, 0] = 0.01
    p[:, 0, 0, 1] = 0.01  # in one seed only
    p[:, :, 1, 4] = 0.01
    count = head_counts(probing(values, p))["f0"]
    assert (count.elbow, count.significant, count.both) == (2, 2, 1)


def test_the_next_seed_lies_in_its_interval_as_often_as_it_says():
    noise = np.random.default_rng(0).normal(size=(6, 200, 25))
    values = xr.DataArray(noise, dims=("seed", "layer", "head"))
    bounds = next_interval(values.isel(seed=slice(0, 5)))
    inside = (noise[5] >= bounds.sel(bound="lower")) & (noise[5] <= bounds.sel(bound="upper"))
    assert float(inside.mean()) == pytest.approx(0.95, abs=0.015)
    assert bool(np.isnan(next_interval(values.isel(seed=[0]))).all())


def test_the_table_has_every_function_and_head_with_its_interval():
    drawn = probing(np.random.default_rng(0).random((2, 3, 2, 4)))
    rows = function_table(drawn)
    assert len(rows) == 16
    first = rows[0]
    assert first["rank"] == 1
    at = drawn["importance"].sel(function="f0").isel(layer=first["layer"], head=first["head"])
    assert first["importance_mean"] == pytest.approx(float(at.mean()))
    assert first["next_seed_low"] < first["importance_mean"] < first["next_seed_high"]
    alone = function_table(probing(np.random.default_rng(0).random((1, 1, 2, 4))))
    assert alone[0]["next_seed_low"] == ""


def test_marks_do_not_change_the_numbers_hash_and_name_weak_functions():
    drawn = probing(np.random.default_rng(0).random((3, 1, 2, 4)))
    rows = [
        {"function": "f0", "elbow": True, "holds": True},
        {"function": "f1", "elbow": True, "holds": None},
        {"function": "f1", "elbow": False, "holds": True},
    ]
    marked = mark_causes(drawn, causes_of(rows), 64)
    assert marked.data["causal"].to_numpy().tolist() == [CAUSES[True], CAUSES[None], "not checked"]
    assert marked.digest == drawn.digest
    assert marked.provenance["causal_questions"] == 64
    assert weak_functions(marked) == ["f1"]
    assert weak_functions(drawn) == []
    assert probing(np.random.default_rng(1).random((3, 1, 2, 4))).digest != drawn.digest
