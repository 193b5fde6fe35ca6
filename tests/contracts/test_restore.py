"""A run that continues from stored maps computes nothing again and gives the same maps."""

from __future__ import annotations

import dataclasses
import shutil

import pytest

import restore
from contracts.test_methods import SHORT, SUBJECTS
from headatlas import Atlas
from headatlas.maps import Map, save_map
from headatlas.methods import METHODS, Ablation, Attribution, Patching

RESTORED = {name: SHORT.get(name) or METHODS[name]() for name in METHODS if name != "probing"}
RESTORED |= {
    "integrated": Attribution(steps=5),
    "every example": Ablation(replacement="resample", keep_examples=True),
    "functions": Ablation(by_function=True, replacement="mean"),
    "denoise": Patching(direction="denoise", examples=8),
}


@pytest.fixture
def results(tmp_path, monkeypatch):
    """An empty folder in place of docs/results/."""
    monkeypatch.setattr(restore, "RESULTS", tmp_path / "results")
    return tmp_path / "results" / "methods"


@pytest.mark.parametrize("name", RESTORED)
def test_the_same_map_without_computing_anything(name, results, tmp_path, tiny):
    method = RESTORED[name]
    subject = SUBJECTS[method.subject]
    before = Atlas(results, tiny, progress=None).map(method, subject, seeds=2, baseline=False)
    shutil.rmtree(results / "units")
    assert restore.restore(tmp_path / "run") > 0
    assert restore.restore(tmp_path / "run") == 0
    atlas = Atlas(tmp_path / "run" / "methods", tiny, progress=None)
    after = atlas.map(method, subject, seeds=2, baseline=False)
    assert atlas.records[0]["units"]["computed"] == {}
    assert after.data.identical(before.data)
    assert after.provenance == before.provenance


def test_a_further_seed_is_computed_alone(results, tmp_path, tiny):
    method, subject = Ablation(), SUBJECTS[Ablation.subject]
    Atlas(results, tiny, progress=None).map(method, subject, seeds=1, baseline=False)
    restore.restore(tmp_path / "run")
    atlas = Atlas(tmp_path / "run" / "methods", tiny, progress=None)
    both = atlas.map(method, subject, seeds=2, baseline=False)
    assert len(atlas.records[0]["units"]["computed"]) == tiny.spec.n_layers
    fresh = Atlas(tmp_path / "fresh", tiny, progress=None).map(
        method, subject, seeds=2, baseline=False
    )
    assert both.data.identical(fresh.data)


def test_layers_that_a_map_has_in_part_and_other_versions_are_left_out(results, tmp_path, tiny):
    some = dataclasses.replace(Ablation(), heads=((0, 0), (0, 1), (0, 2), (0, 3), (2, 1)))
    head_map = some.run(tiny, SUBJECTS[Ablation.subject])
    assert len(restore.units(head_map)) == 1
    old = Map(head_map.data, {**head_map.provenance, "method_version": Ablation.version - 1})
    assert restore.units(old) == {}
    (results / "maps").mkdir(parents=True)
    save_map(head_map, results / "maps" / "one.nc")
    assert restore.restore(tmp_path / "run") == 1


def test_a_check_is_found_again(results, tmp_path, tiny):
    method, subject = Ablation(), SUBJECTS[Ablation.subject]
    options = {"kind": "faithfulness", "questions": 4}
    first = Atlas(results, tiny, progress=None)
    before = first.check(first.map(method, subject, baseline=False), subject, **options)
    shutil.rmtree(results / "units")
    restore.restore(tmp_path / "run")
    atlas = Atlas(tmp_path / "run" / "methods", tiny, progress=None)
    head_map = atlas.map(method, subject, baseline=False)
    units = set(atlas.store.units.iterdir())
    assert repr(atlas.check(head_map, subject, **options)) == repr(before)
    assert set(atlas.store.units.iterdir()) == units
