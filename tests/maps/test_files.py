"""Maps as files."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from headatlas.errors import MapError, StoreError
from headatlas.maps import Map, head_coordinates, load_map
from maps.made_maps import effects


@settings(max_examples=20, deadline=None, derandomize=True)
@given(values=arrays(float, (2, 3, 4), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_a_saved_map_comes_back(values, tmp_path_factory):
    path = tmp_path_factory.mktemp("maps") / "map.nc"
    saved = effects(values, model="größe", settings={"steps": 3, "heads": [[0, 1]]}, nothing=None)
    saved.save(path)
    loaded = load_map(path)
    np.testing.assert_array_equal(loaded["effect"], values)
    assert loaded.provenance == saved.provenance


def test_equal_maps_are_equal_files(tmp_path):
    values = np.random.default_rng(0).normal(size=(2, 3, 4))
    digests = [
        hashlib.sha256(effects(values, a=1).save(tmp_path / f"{i}.nc").read_bytes()).hexdigest()
        for i in range(2)
    ]
    assert digests[0] == digests[1]


def test_plain_xarray_reads_the_file(tmp_path):
    groups = head_coordinates({(0, 0): 0, (0, 1): 0, (1, 0): 1}, (2, 2))
    head_map = Map.of({"effect": (("layer", "head"), np.ones((2, 2)))}, {"task": "t"}, groups)
    with xr.open_dataset(head_map.save(tmp_path / "map.nc")) as data:
        assert data["effect"].dims == ("layer", "head")
        assert data["kv_group"].to_numpy().tolist() == [[0, 0], [1, -1]]
        assert "task" in data.attrs["provenance"]


def test_damaged_and_foreign_files_are_one_sentence(tmp_path):
    path = effects(np.ones((1, 20, 20))).save(tmp_path / "map.nc")
    data = path.read_bytes()
    for kept in (0, 10, len(data) // 2, len(data) - 100):
        path.write_bytes(data[:kept])
        with pytest.raises(MapError, match=r"map.nc is damaged .* compute it again") as caught:
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
        effects(np.ones((1, 2, 2))).save(tmp_path / "file" / "map.nc")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]
