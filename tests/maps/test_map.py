"""The map type: labels, names, parts and how it is shown."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.errors import MapError
from headatlas.maps import Map, combine, head_coordinates
from maps.made_maps import effects, importances
from small_things import gating_map

FACTS = {
    "model": "owner/größe",
    "task": "math:icl=2",
    "method": "ablation",
    "model_hash": "a",
    "task_hash": "b",
    "method_version": 2,
    "settings": {"examples": 8},
}


def test_variables_end_in_layer_and_head():
    with pytest.raises(
        MapError, match="end in the dimensions layer, head, but 'x' has head, layer"
    ):
        Map.of({"x": (("head", "layer"), np.ones((2, 2)))}, {})
    with pytest.raises(MapError, match="at least one variable"):
        Map.of({}, {})


def test_variables_and_coordinates_are_read_by_name():
    groups = head_coordinates({(0, 0): 0, (0, 1): 0, (1, 0): 1}, (2, 2))
    head_map = Map.of(
        {"effect": (("seed", "layer", "head"), np.zeros((2, 2, 2)))}, {}, {"seed": [3, 5]} | groups
    )
    assert head_map["seed"].to_numpy().tolist() == [3, 5]
    assert head_map["kv_group"].to_numpy().tolist() == [[0, 0], [1, -1]]
    assert head_map["effect"].shape == (2, 2, 2)
    assert importances(np.ones((2, 1, 2, 2)))["function"].to_numpy().tolist() == ["f0", "f1"]
    with pytest.raises(MapError, match=r"no variable 'gate' in this map: it has effect .*seed"):
        head_map["gate"]


def test_sel_keeps_a_map():
    values = np.arange(24.0).reshape(2, 3, 4)
    head_map = effects(values)
    assert head_map.sel(seed=1)["effect"].dims == ("layer", "head")
    np.testing.assert_array_equal(head_map.sel(seed=1)["effect"], values[1])
    one = head_map.sel(layer=2, head=3)
    assert one["effect"].dims == ("seed", "layer", "head")
    np.testing.assert_array_equal(one["effect"], values[:, 2:, 3:])
    assert head_map.sel(seed=[1])["seed"].to_numpy().tolist() == [1]
    assert head_map.sel(layer=slice(0, 1))["effect"].shape == (2, 2, 4)
    assert head_map.sel(seed=0).provenance == head_map.provenance


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"seed": 7}, "nothing at {'seed': 7} in this map: it has seed 0, 1."),
        ({"layer": 9}, "nothing at {'layer': 9} in this map: it has layer 0, 1, 2."),
        ({"epoch": 0}, "this map has no dimension 'epoch': it has seed, layer, head."),
        ({"head": "first"}, "nothing at {'head': 'first'} in this map: it has head 0, 1, 2, 3."),
    ],
)
def test_labels_that_are_not_there_are_one_sentence(labels, words):
    with pytest.raises(MapError) as error:
        effects(np.zeros((2, 3, 4))).sel(**labels)
    assert str(error.value) == words


def test_the_name_holds_model_task_method_and_a_hash():
    values = np.zeros((1, 2, 2))
    name = effects(values, **FACTS).name
    assert name.startswith("größe.math-icl-2.ablation-")
    assert effects(values + 1, **FACTS | {"seed": 3}).name == name
    for change in (
        {"settings": {"examples": 9}},
        {"model_hash": "x"},
        {"task_hash": "x"},
        {"method_version": 3},
    ):
        assert effects(values, **FACTS | change).name != name


def test_the_hash_is_of_the_numbers_alone():
    values = np.zeros((1, 2, 2))
    assert effects(values).digest == effects(values, task="other").digest
    assert effects(values).digest != effects(values + 1).digest


def test_combine_fills_parts_and_refuses_contradictions():
    whole = np.arange(12.0).reshape(1, 3, 4)
    parts = []
    for layer in range(3):
        values = np.full_like(whole, np.nan)
        values[0, layer] = whole[0, layer]
        parts.append(effects(values, seconds=layer))
    together = combine(parts)
    np.testing.assert_array_equal(together["effect"], whole)
    assert together.provenance == parts[0].provenance
    with pytest.raises(MapError, match="contradict"):
        combine([effects(whole), effects(whole + 1)])
    with pytest.raises(MapError, match="nothing to combine"):
        combine([])


def test_a_coordinate_that_only_a_later_part_has_is_combined_too():
    """`effect_questions` is there only where some examples are left out."""
    parts = [effects(np.zeros((1, 2, 2))) for _ in range(3)]
    fewer = [Map(part.data.assign_coords(seed=[i]), {}) for i, part in enumerate(parts)]
    fewer[1] = Map(fewer[1].data.assign_coords(effect_questions=("seed", [5])), {})
    whole = combine(fewer)
    assert "effect_questions" in whole.data.coords
    np.testing.assert_array_equal(whole["effect_questions"], [np.nan, 5, np.nan])
    whole.to_dataframe()
    assert combine(fewer[::-1]).data.equals(whole.data)


def test_what_is_known_of_one_part_is_not_known_of_all():
    """A reliability is of certain seeds, and so is how a run ended."""
    rng = np.random.default_rng(0)
    known = {"reliability": {"seeds": 3}, "stopped": "reached 0.9"}
    some = gating_map(rng.random((3, 4, 5)), rng.random((3, 4, 5)), **known)
    others = some.data.assign_coords(seed=[3, 4, 5])
    whole = combine([some, Map(others, some.provenance)])
    assert not known.keys() & whole.provenance.keys()
    assert whole.aggregate("mean").reliability.seeds == 6
    assert combine([some]).provenance == some.provenance


def test_the_repr_is_one_short_line():
    shown = repr(effects(np.zeros((2, 30, 9))))
    assert shown == "<Map ablation of t on m (seed: 2, layer: 30, head: 9): effect, effect_se>"
    assert repr(Map.of({"x": (("layer", "head"), np.ones((1, 2)))}, {})).count("\n") == 0


@pytest.mark.parametrize(
    "head_map",
    [
        gating_map(np.ones((1, 2, 3)), np.zeros((1, 2, 3)), task="<script>x</script>"),
        effects(np.ones((1, 2, 3)), model="<script>x</script>"),
        importances(np.random.default_rng(0).random((2, 1, 2, 3)), task="<script>x</script>"),
    ],
)
def test_a_notebook_shows_the_map_and_no_markup_of_its_names(head_map):
    html = head_map._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;x" in html
    assert "<img" in html or "<svg" in html
