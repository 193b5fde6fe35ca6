"""Which maps of a folder are compared with each other, and what is stored."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

import headatlas as ha
from headatlas.maps import Map
from headatlas.runs.comparing import groups
from maps.made_maps import SEEDED, effects, importances
from small_things import gating_map

VALUES = np.random.default_rng(0).random((2, 3, 4))


def ablated(task="a", replacement="mean", model="m", values=VALUES, **settings):
    return effects(
        values, task=task, model=model, settings={"replacement": replacement, **settings}
    )


def gated(task="a", model="m"):
    return gating_map(VALUES, VALUES[::-1], task=task, model=model)


def patched(task="a", model="m", values=VALUES):
    facts = {"model": model, "task": task, "method": "patching"}
    return Map.of({"indirect_effect": (SEEDED, values)}, facts, {"seed": range(2)})


def test_a_model_that_was_moved_is_the_same_model(atlas):
    maps = [gated(model="/old/place.gguf"), patched(model="place.gguf"), ablated(model="x")]
    for head_map, weights in zip(maps, "aab", strict=True):
        head_map.provenance["model_hash"] = weights
    (group, *_) = groups(maps)
    assert {one.provenance["method"] for one in group} == {"gating", "patching"}
    (found,) = keep(atlas, *maps).mediations(*maps)
    assert found.maps == (maps[1].name, maps[0].name)
    assert atlas.compare(*maps[:2]).model == "/old/place.gguf"


def nothing_ranked():
    return Map.of({"loss": (("layer", "head"), np.zeros((3, 4)))}, {"model": "m", "task": "a"})


@pytest.fixture
def atlas(tmp_path):
    return ha.Atlas(tmp_path / "atlas", progress=None)


def keep(atlas, *maps):
    for head_map in maps:
        atlas.store.save_map(head_map)
    return atlas


def names(found):
    return [[head_map.name for head_map in group] for group in found]


def test_maps_of_one_task_and_maps_of_one_method_belong_together():
    maps = [ablated("a"), gated("a"), patched("a"), ablated("b"), gated("b")]
    one, two, three, four, five = (head_map.name for head_map in maps)
    assert names(groups(maps)) == [[one, two, three], [four, five], [one, four], [two, five]]


def test_a_method_with_other_settings_is_another_method():
    maps = [ablated("a", "mean"), ablated("b", "zero"), ablated("b", "mean")]
    one, two, three = (head_map.name for head_map in maps)
    assert names(groups(maps)) == [[two, three], [one, three]]
    same = [ablated("a", examples=4), ablated("a", examples=8), gated("b"), patched("b")]
    one, two, three, four = (head_map.name for head_map in same)
    assert names(groups(same)) == [[one, two], [three, four]]


def test_models_are_compared_where_task_and_method_are_the_same():
    maps = [ablated(), gated(), ablated(model="n")]
    one, two, three = (head_map.name for head_map in maps)
    assert names(groups(maps)) == [[one, two], [one, three]]


def test_maps_that_share_nothing_are_compared_all_the_same():
    maps = [ablated("a"), gated("b")]
    assert names(groups(maps)) == [[head_map.name for head_map in maps]]


def test_maps_that_cannot_be_compared_are_left_out_with_a_note(caplog):
    few = VALUES.copy()
    few[:, 1:] = np.nan
    few[:, 0, 2:] = np.nan
    alone = ablated("a", "zero", values=few)  # only two heads
    other = ablated("a", "mean", model="n", values=VALUES[:, :2])  # fewer layers
    maps = [alone, gated(), patched(), ablated(), nothing_ranked(), other]
    with caplog.at_level(logging.WARNING):
        found = groups(maps)
    assert names(found) == [[head_map.name for head_map in maps[1:4]]]
    notes = [record.getMessage() for record in caplog.records]
    assert len(notes) == 3
    assert notes[0].startswith(f"{maps[4].name} is not compared: this map says nothing about")
    few_heads = "and 2 more: two maps need at least 3 heads in common, but have 2"
    assert notes[1].startswith(f"{alone.name} is not compared with {maps[1].name} {few_heads}")
    assert f"not compared with {maps[3].name}: maps of different heads" in notes[2]


def test_functions_that_not_all_have_do_not_stop_the_others(caplog):
    values = np.random.default_rng(0).random((2, 1, 3, 4))
    one, other = importances(values), importances(values, settings={"epochs": 2})
    strange = Map(
        one.data.assign_coords(function=["x", "y"]), {**one.provenance, "settings": {"epochs": 3}}
    )
    (found,) = groups([one, strange, other])
    assert [head_map.name for head_map in found] == [one.name, other.name]
    assert "no function in common" in caplog.text


def test_two_or_more_maps_are_compared_and_stored(atlas):
    maps = [ablated(), gated(), patched()]
    keep(atlas, *maps)
    comparison = atlas.compare("ablation", maps[1], "patching")
    (path,) = (atlas.folder / "checks").iterdir()
    assert path.name == f"{comparison.file_name}.comparison.json"
    stored = ha.Comparison.from_dict(json.loads(path.read_text(encoding="utf-8")))
    assert repr(stored) == repr(comparison)
    assert comparison.labels == ("ablation", "gating", "patching")
    figures = {path.name.split(".")[-2] for path in atlas.save_figures(comparison)}
    assert figures == {"agreement-matrix"}
    two = atlas.compare("ablation", "gating")
    assert two.file_name.startswith("m.a.ablation+1-more-")
    for given in ((), ("ablation",)):
        with pytest.raises(ha.HeadAtlasError, match="a comparison needs two or more maps, not"):
            atlas.compare(*given)


def test_all_that_belongs_together_is_compared_with_progress(tmp_path):
    told = []
    atlas = keep(
        ha.Atlas(tmp_path / "atlas", progress=told.append), ablated("a"), gated("a"), ablated("b")
    )
    found = atlas.compare_all()
    assert [one.subject for one in found] == ["a", "ablation (mean)"]
    assert len(list((atlas.folder / "checks").glob("*.comparison.json"))) == 2
    assert (told[-1].done, told[-1].total, told[-1].finished) == (2, 2, True)


def test_a_folder_with_nothing_to_compare_says_so(atlas):
    keep(atlas, ablated(), nothing_ranked())
    with pytest.raises(ha.HeadAtlasError, match=r"^no two maps in .* can be compared\.$"):
        atlas.compare_all()


def test_mediation_is_stored_and_drawn(atlas):
    values = np.zeros((2, 3, 4))
    values[:, 1, 2] = 1.0
    keep(atlas, patched(values=values), gated())
    found = atlas.mediation("patching", "gating")
    assert [row.name for row in found.mediating] == ["1.2"]
    (path,) = (atlas.folder / "checks").iterdir()
    assert path.name == f"{found.file_name}.mediation.json"
    stored = ha.Mediation.from_dict(json.loads(path.read_text(encoding="utf-8")))
    assert repr(stored) == repr(found)
    assert {path.suffix for path in atlas.save_figures(found)} == {".png", ".svg", ".pdf"}
    assert atlas.plot("mediation").axes
