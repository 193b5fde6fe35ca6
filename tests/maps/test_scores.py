"""Head scores as files that other programs read."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from safetensors import safe_open

from headatlas.errors import MapError, StoreError
from headatlas.maps import Map, head_coordinates
from maps.made_maps import contrasted, effects, importances
from small_things import gating_map

# seed layer head; the last head of layer 1 does not exist
EFFECT = np.array([[[-0.5, 0.25], [0.125, np.nan]], [[-1.5, 0.75], [0.375, np.nan]]])
SCORES = {"a0.h0": 1.0, "a0.h1": -0.5, "a1.h0": -0.25}


def with_groups(head_map):
    """The map with key/value heads: both heads of layer 0 share one."""
    groups = head_coordinates({(0, 0): 0, (0, 1): 0, (1, 0): 0}, (2, 2))
    return Map(head_map.data.assign_coords(groups), head_map.provenance)


def read_json(path):
    """The file, if it is JSON for strict readers too."""
    return json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(word))


def read_csv(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def nodes_as_eap_ig_reads_them(content):
    """Scores of all nodes of the graph, as `Graph.from_json` fills them from NaN."""
    cfg = content["cfg"]
    heads = [f"a{layer}.h{h}" for layer in range(cfg["n_layers"]) for h in range(cfg["n_heads"])]
    scores = dict.fromkeys(["input", *heads, *(f"m{i}" for i in range(cfg["n_layers"]))], np.nan)
    for name, node in content["nodes"].items():
        assert name in scores
        assert isinstance(node["in_graph"], bool)
        scores[name] = node["score"]
    assert all({"score", "in_graph"} <= set(edge) for edge in content["edges"].values())
    return scores


def test_a_circuit_file_has_a_score_per_head_that_exists(tmp_path):
    cfg = {"d_model": 8, "parallel_attn_mlp": False}
    content = read_json(effects(EFFECT).save_scores(tmp_path / "s.json", cfg=cfg))
    assert content["cfg"] == {"n_layers": 2, "n_heads": 2, **cfg}
    assert content["scores"] == SCORES  # a fall of log P is important
    read = nodes_as_eap_ig_reads_them(content)
    assert {name: score for name, score in read.items() if np.isfinite(score)} == SCORES
    assert content["edges"] == {}
    assert content["score"] == "fall of log P when removed (nats per token)"
    assert content["provenance"]["method"] == "ablation"
    assert list(content["nodes"]) == ["a0.h0", "a0.h1", "a1.h0"]
    assert content["missing"] == ["a1.h1"]


@pytest.mark.parametrize(
    ("head_map", "first"),
    [
        (gating_map([[[1, 1, 1]]], [[[0.2, 0.9, 0.1]]]), "a0.h1"),
        (contrasted([[[0.9, 0.8, 0.1]]]), "a0.h2"),
        (importances([[[[0.3, 0.2, 0.1]]]]), "a0.h0"),
    ],
    ids=["gating", "contrast", "probing"],
)
def test_larger_scores_are_more_important_for_every_method(head_map, first, tmp_path):
    scores = read_json(head_map.save_scores(tmp_path / "s.json"))["scores"]
    assert max(scores, key=scores.get) == first


def test_a_table_has_a_row_per_head(tmp_path):
    head_map = with_groups(effects(EFFECT))
    rows = read_csv(head_map.save_scores(tmp_path / "s.csv"))
    columns = ["rank", "layer", "head", "name", "kv_group", "score", "low", "high", "p"]
    assert list(rows[0])[: len(columns)] == columns
    assert {row["name"]: float(row["score"]) for row in rows} == SCORES
    assert [row["kv_group"] for row in rows] == ["0", "0", "0"]
    table = head_map.to_dataframe()
    assert [float(row["p"]) for row in rows] == table["p"].tolist()
    assert [row["significant"] for row in rows] == [str(value) for value in table["significant"]]


def test_tensors_have_all_axes_and_say_what_they_are(tmp_path):
    head_map = effects(EFFECT, ceiling=0.5)
    with safe_open(head_map.save_scores(tmp_path / "s.safetensors"), "numpy") as file:
        np.testing.assert_array_equal(file.get_tensor("effect"), EFFECT)
        assert set(file.keys()) == set(head_map.variables)
        facts = json.loads(file.metadata()["headatlas"])
    assert facts["dims"]["effect"] == ["seed", "layer", "head"]
    assert facts["labels"]["seed"] == [0, 1]
    assert facts["provenance"] == dict(head_map.provenance)


EXTREME = np.array([[[-1.7e308, 5e-324, -0.1], [np.nan, 1e-300, 0.0]]])  # seed layer head


def test_extreme_scores_come_back_bit_for_bit_and_missing_ones_are_named(tmp_path):
    wanted = {"a0.h0": 1.7e308, "a0.h1": -5e-324, "a0.h2": 0.1, "a1.h1": -1e-300, "a1.h2": 0.0}
    head_map = effects(EXTREME, questions=1)
    content = read_json(head_map.save_scores(tmp_path / "s.json"))
    assert content["scores"] == wanted
    assert {name: node["score"] for name, node in content["nodes"].items()} == wanted
    assert content["missing"] == ["a1.h0"]
    rows = read_csv(head_map.save_scores(tmp_path / "s.csv"))
    assert {row["name"]: float(row["score"]) for row in rows} == wanted
    with safe_open(head_map.save_scores(tmp_path / "s.safetensors"), "numpy") as file:
        assert file.get_tensor("effect").tobytes() == EXTREME.tobytes()


def test_a_head_that_some_seeds_lack_has_the_mean_of_the_others(tmp_path):
    head_map = effects([[[np.nan, -1.0]], [[-3.0, -2.0]]])
    scores = read_json(head_map.save_scores(tmp_path / "s.json"))["scores"]
    assert scores == {"a0.h0": 3.0, "a0.h1": 1.5}


@pytest.mark.parametrize(
    "values",
    [
        [[[0.1, -np.inf]], [[0.1, 0.2]]],
        [[[0.1, np.inf]], [[0.1, -np.inf]]],
        [[[0.1, 1.7e308]], [[0.1, 1.7e308]]],
    ],
    ids=["in one seed", "of both signs", "mean overflows"],
)
@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_an_infinite_score_is_refused_rather_than_left_out(values, suffix, tmp_path):
    head_map = effects(values)
    with pytest.raises(MapError, match=r"of 1 heads are infinite, first of a0.h1: write .safeten"):
        head_map.save_scores(tmp_path / f"s.{suffix}")
    assert not list(tmp_path.iterdir())
    with safe_open(head_map.save_scores(tmp_path / "s.safetensors"), "numpy") as file:
        np.testing.assert_array_equal(file.get_tensor("effect"), values)


def test_functions_are_rows_axes_or_one_at_a_time(tmp_path):
    head_map = importances(np.arange(8.0).reshape(2, 1, 2, 2))
    with pytest.raises(MapError, match="has one score per head: choose a function from f0, f1"):
        head_map.save_scores(tmp_path / "s.json")
    content = read_json(head_map.save_scores(tmp_path / "s.json", function="f1"))
    assert content["scores"] == {"a0.h0": 4.0, "a0.h1": 5.0, "a1.h0": 6.0, "a1.h1": 7.0}
    assert content["provenance"]["function"] == "f1"
    rows = read_csv(head_map.save_scores(tmp_path / "s.csv"))
    assert [row["function"] for row in rows] == ["f0"] * 4 + ["f1"] * 4
    one = read_csv(head_map.save_scores(tmp_path / "o.csv", function="f1"))
    assert one == rows[4:]
    path = head_map.save_scores(tmp_path / "s.safetensors", function="f1")
    with safe_open(path, "numpy") as file:
        assert file.get_tensor("importance").shape == (1, 1, 2, 2)
    with pytest.raises(MapError, match="no function 'f2' in this map: it has f0, f1"):
        head_map.save_scores(tmp_path / "s.csv", function="f2")


def test_mistakes_get_a_sentence_and_no_file(tmp_path):
    head_map = effects(EFFECT)
    with pytest.raises(MapError, match=r"as 's.xlsx': end its name in .json, .csv, .safetensors\."):
        head_map.save_scores(tmp_path / "s.xlsx")
    with pytest.raises(MapError, match=r"d_model can only be written into a .json file, not s.csv"):
        head_map.save_scores(tmp_path / "s.csv", cfg={"d_model": 8})
    with pytest.raises(MapError, match="no function 'f0' in this map: it has none"):
        head_map.save_scores(tmp_path / "s.csv", function="f0")
    with pytest.raises(MapError, match="written from a whole map, and this one lacks a layer"):
        head_map.sel(layer=1).save_scores(tmp_path / "s.json")
    (tmp_path / "s.json").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        head_map.save_scores(tmp_path / "s.json")
    assert [path.name for path in tmp_path.iterdir()] == ["s.json"]
