"""The map type, its rules and its files."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from headatlas.errors import MapError, StoreError
from headatlas.maps import Map, aggregate, bootstrap_interval, combine, head_coordinates, load_map

numbers = st.floats(-1e6, 1e6, allow_nan=False)


def make(values, **provenance):
    dims = ("seed", "layer", "head")
    return Map.of({"effect": (dims, values)}, provenance, {"seed": np.arange(len(values))})


@given(arrays(float, (3, 2, 4), elements=numbers))
def test_rules_are_what_their_names_say(values):
    drawn = make(values)
    for rule, function in {
        "mean": np.mean,
        "always": np.min,
        "any": np.max,
        "median": np.median,
    }.items():
        found = drawn.aggregate(rule)["effect"]
        assert found.dims == ("layer", "head")
        np.testing.assert_allclose(found, function(values, axis=0), rtol=1e-9, atol=1e-9)
    assert (drawn.aggregate("always")["effect"] <= drawn.aggregate("any")["effect"]).all()


def test_missing_heads_stay_missing():
    values = np.ones((3, 2, 4))
    values[:, 1, 3] = np.nan
    for rule in ("mean", "median", "always", "any"):
        found = make(values).aggregate(rule)["effect"].to_numpy()
        assert np.isnan(found[1, 3])
        assert np.isfinite(found[0]).all()


def test_aggregation_goes_over_any_dimension():
    values = np.arange(24.0).reshape(2, 3, 2, 2)
    dims = ("function", "seed", "layer", "head")
    drawn = Map.of({"importance": (dims, values)}, {})
    assert drawn.aggregate("any", "function")["importance"].dims == ("seed", "layer", "head")
    both = Map.of({"a": (dims, values), "b": (("layer", "head"), values[0, 0])}, {})
    kept = aggregate(both.data, "mean", "seed")
    assert kept["b"].dims == ("layer", "head")
    with pytest.raises(MapError, match="no dimension 'epoch'"):
        drawn.aggregate("mean", "epoch")
    with pytest.raises(MapError, match="no rule 'most'"):
        drawn.aggregate("most")


def test_bootstrap_interval_covers_the_truth_about_as_often_as_it_says():
    generator = np.random.default_rng(0)
    values = make(generator.normal(size=(30, 40, 25)))["effect"]
    bounds = bootstrap_interval(values, draws=400)
    assert bounds.dims == ("bound", "layer", "head")
    covered = (bounds.sel(bound="lower") <= 0) & (bounds.sel(bound="upper") >= 0)
    assert 0.90 < float(covered.mean()) < 0.98
    assert (bootstrap_interval(values, draws=50) == bootstrap_interval(values, draws=50)).all()


def test_combine_fills_parts_and_says_no_to_contradictions():
    whole = np.arange(12.0).reshape(1, 3, 4)
    parts = []
    for layer in range(3):
        values = np.full_like(whole, np.nan)
        values[0, layer] = whole[0, layer]
        parts.append(make(values, method="x"))
    together = combine(parts)
    np.testing.assert_array_equal(together["effect"], whole)
    assert together.provenance == {"method": "x"}
    with pytest.raises(MapError, match="contradict"):
        combine([make(whole), make(whole + 1)])
    with pytest.raises(MapError, match="nothing to combine"):
        combine([])


@settings(max_examples=20, deadline=None)
@given(values=arrays(float, (2, 3, 4), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_a_saved_map_comes_back(values, tmp_path_factory):
    path = tmp_path_factory.mktemp("maps") / "map.nc"
    saved = make(values, model="größe", settings={"steps": 3, "heads": [[0, 1]]}, nothing=None)
    saved.save(path)
    loaded = load_map(path)
    np.testing.assert_array_equal(loaded["effect"], values)
    assert loaded.provenance == saved.provenance


def test_equal_maps_are_equal_files(tmp_path):
    values = np.random.default_rng(0).normal(size=(2, 3, 4))
    digests = [
        hashlib.sha256(make(values, a=1).save(tmp_path / f"{i}.nc").read_bytes()).hexdigest()
        for i in range(2)
    ]
    assert digests[0] == digests[1]


def test_plain_xarray_reads_the_file(tmp_path):
    groups = head_coordinates({(0, 0): 0, (0, 1): 0, (1, 0): 1}, (2, 2))
    drawn = Map.of({"effect": (("layer", "head"), np.ones((2, 2)))}, {"task": "t"}, groups)
    with xr.open_dataset(drawn.save(tmp_path / "map.nc")) as data:
        assert data["effect"].dims == ("layer", "head")
        assert data["kv_group"].to_numpy().tolist() == [[0, 0], [1, -1]]
        assert "task" in data.attrs["provenance"]


def test_damaged_and_foreign_files_are_one_sentence(tmp_path):
    path = make(np.ones((1, 20, 20))).save(tmp_path / "map.nc")
    data = path.read_bytes()
    for kept in (0, 10, len(data) // 2, len(data) - 100):
        path.write_bytes(data[:kept])
        with pytest.raises(MapError, match=r"map.nc is damaged .* make it again") as caught:
            load_map(path)
        assert "\n" not in str(caught.value)
    path.write_text("hello")
    with pytest.raises(MapError, match="is damaged"):
        load_map(path)
    xr.Dataset({"x": ("y", [1.0])}).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(MapError, match="is not a map of Head Atlas"):
        load_map(path)
    with pytest.raises(MapError, match="there is no map file"):
        load_map(tmp_path / "none.nc")


def test_a_file_that_cannot_be_written_is_one_sentence_and_leaves_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        make(np.ones((1, 2, 2))).save(tmp_path / "file" / "map.nc")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_variables_end_in_layer_and_head():
    with pytest.raises(
        MapError, match="end in the dimensions layer, head, but 'x' has head, layer"
    ):
        Map.of({"x": (("head", "layer"), np.ones((2, 2)))}, {})
    with pytest.raises(MapError, match="no variable 'gate' in this map: it has effect"):
        make(np.ones((1, 2, 2)))["gate"]
