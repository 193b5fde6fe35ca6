"""Tables of heads: their order, intervals and corrected p-values, for every method."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headatlas.errors import MapError
from headatlas.maps import Map
from headatlas.maps.aggregate import next_interval
from headatlas.stats.intervals import share_interval
from headatlas.stats.multiple import holm
from maps.made_maps import contrasted, effects, importances
from small_things import gating_map

FIRST = ["rank", "layer", "head", "score", "low", "high", "p", "significant"]


def test_ablation_is_ranked_by_what_the_task_loses():
    values = [[[0.1, -2.0], [-0.3, np.nan]]]
    table = effects(values, error=0.5, questions=11).to_dataframe()
    assert list(table)[:8] == FIRST
    assert list(zip(table["layer"], table["head"], strict=True)) == [(0, 1), (1, 0), (0, 0)]
    assert table["score"].tolist() == [2.0, 0.3, -0.1]
    half_width = stats.t.ppf(0.975, 10) * 0.5
    assert table["low"].tolist() == pytest.approx([m - half_width for m in (2, 0.3, -0.1)])
    raw = 2 * stats.t.sf(np.array([4.0, 0.6, 0.2]), 10)
    assert table["p"].tolist() == pytest.approx(holm(raw).tolist())
    assert table["significant"].tolist() == [True, False, False]
    assert table["effect"].tolist() == [-2.0, -0.3, 0.1]


def test_seeds_of_ablation_are_averaged_and_both_variances_count():
    """Variance over questions 0.01 (19 degrees of freedom), between two seeds 2 / 2 (1)."""
    head_map = effects([[[-1.0, 0.0]], [[-3.0, 0.0]]], error=0.1, questions=20)
    first = head_map.to_dataframe().iloc[0]
    assert (first["score"], first["seeds"]) == (2.0, 2)
    assert first["effect_se"] == pytest.approx(np.sqrt(0.01 + 1))
    df = 1.01**2 / (0.01**2 / 19 + 1)
    half_width = stats.t.ppf(0.975, df) * np.sqrt(1.01)
    assert (first["low"], first["high"]) == pytest.approx((2 - half_width, 2 + half_width))


def test_without_the_number_of_questions_there_is_no_interval():
    head_map = effects([[[-1.0, 0.0]]])
    bare = Map(head_map.data.drop_vars("questions"), head_map.provenance)
    assert bare.top()[["low", "high", "p"]].isna().all(axis=None)
    assert bare.top()["score"].tolist() == [1.0, 0.0]


def test_functions_of_ablation_have_their_own_questions_and_one_correction():
    values = np.zeros((2, 1, 1, 3))
    values[0, 0, 0, 1], values[1, 0, 0, 2] = -1.0, -1.0
    table = effects(values, error=0.25, questions=[5, 50]).to_dataframe()
    assert next(iter(table)) == "function"
    firsts = table[table["rank"] == 1].set_index("function")
    assert firsts["head"].to_dict() == {"f0": 1, "f1": 2}
    raw = {"f0": 2 * stats.t.sf(4, 4), "f1": 2 * stats.t.sf(4, 49)}
    assert firsts["p"]["f1"] == pytest.approx(6 * raw["f1"])
    assert firsts["p"]["f0"] == pytest.approx(5 * raw["f0"])


def test_gating_is_ranked_by_mean_facilitation():
    plus = [[[1, 0]], [[1, 0.2]]] * 3
    table = gating_map(plus, [[[1, 0]], [[0.5, 0]]] * 3).to_dataframe()
    assert list(table)[:8] == FIRST
    first, second = table.to_dict("records")
    assert (first["layer"], first["head"], first["role_always"]) == (0, 0, "facilitating")
    assert first["score"] == first["facilitation_mean"] == 0.75
    known = share_interval(0.75, 6)
    assert (first["facilitation_low"], first["facilitation_high"]) == pytest.approx(known)
    assert (first["low"], first["high"]) == (
        first["facilitation_low"],
        first["facilitation_high"],
    )
    assert second["seeds_interfering"] == 6
    assert second["role_any"] == "interfering"


def test_one_seed_has_no_interval_and_no_p_value():
    (row,) = gating_map([[[0.4]]], [[[0.6]]]).to_dataframe().to_dict("records")
    assert (row["seeds_facilitating"], row["seeds_interfering"]) == (1, 1)
    assert np.isnan(row["low"])
    assert np.isnan(row["facilitation_low"])
    assert np.isnan(row["p"])
    assert not row["significant"]


def test_a_head_that_every_seed_needs_is_significant():
    minus = np.random.default_rng(0).random((10, 5, 6)) * 0.5
    minus[:, 2, 3] = 1.0
    top = gating_map(np.ones_like(minus), minus).top(2)
    assert (top["layer"][0], top["head"][0], bool(top["significant"][0])) == (2, 3, True)
    assert not top["significant"][1]


def test_contrast_is_ranked_by_closed_gates():
    gates = np.tile([[[0.9, 0.1, 0.5]]], (5, 1, 1))
    table = contrasted(gates).to_dataframe()
    assert table["head"].tolist() == [1, 2, 0]
    assert table["score"].tolist() == pytest.approx([0.9, 0.5, 0.1])
    assert table["gate_mean"].tolist() == pytest.approx([0.1, 0.5, 0.9])


def test_probing_has_every_function_with_its_intervals():
    values = np.random.default_rng(0).random((2, 3, 2, 4))
    p = np.ones_like(values)
    p[0, :, 1, 1] = [0.01, 0.04, 0.02]
    p[0, :, 1, 2] = [0.01, 0.2, 0.02]
    head_map = importances(values, p)
    table = head_map.to_dataframe()
    assert len(table) == 16
    assert list(table)[:2] == ["function", "rank"]
    row = table.iloc[0]
    at = head_map["importance"].sel(function="f0", layer=row["layer"], head=row["head"])
    assert row["score"] == pytest.approx(float(at.mean())) == values[0].mean(0).max()
    known = stats.ttest_1samp(at.to_numpy(), 0).confidence_interval(0.95)
    assert (row["low"], row["high"]) == pytest.approx((known.low, known.high))
    following = tuple(next_interval(at).to_numpy())
    assert (row["next_seed_low"], row["next_seed_high"]) == pytest.approx(following)
    passed = table[table["significant"]]
    assert passed[["function", "layer", "head", "p"]].values.tolist() == [["f0", 1, 1, 0.04]]
    assert np.isnan(importances(values[:, :1]).to_dataframe()["low"]).all()


def test_top_gives_that_many_heads_per_function_and_few_columns():
    values = np.random.default_rng(0).random((3, 2, 4, 5))
    assert importances(values).top(2)["function"].value_counts().to_dict() == {
        "f0": 2,
        "f1": 2,
        "f2": 2,
    }
    top = gating_map(values[0], values[1]).top(3)
    assert list(top) == [*FIRST, "role_always", "role_any"]
    assert top["rank"].tolist() == [1, 2, 3]
    assert len(gating_map(values[0], values[1]).top(1000)) == 20
    with pytest.raises(MapError, match="at least 1, not 0"):
        effects(values[0]).top(0)


@pytest.mark.parametrize(
    "head_map",
    [
        gating_map(np.ones((2, 2, 3)), np.random.default_rng(0).random((2, 2, 3))),
        contrasted(np.random.default_rng(0).random((2, 2, 3))),
        effects(np.random.default_rng(0).random((2, 2, 3))),
        importances(np.random.default_rng(0).random((1, 2, 2, 3))),
    ],
    ids=lambda head_map: head_map.provenance["method"],
)
def test_a_map_of_one_seed_or_of_the_mean_is_ranked_too(head_map):
    one = head_map.sel(seed=1)
    assert one.top(3).equals(head_map.sel(seed=[1]).top(3))
    assert head_map.aggregate("mean").top(3)["score"].tolist() == pytest.approx(
        head_map.top(3)["score"].tolist()
    )


def test_a_map_says_how_it_ranks_heads():
    values = np.random.default_rng(0).random((2, 3, 2, 4))
    values[..., 1, 3] = np.nan
    probing, by_function = importances(values), effects(-values)
    assert probing.ranking.correction == "7 heads within each function"
    assert by_function.ranking.correction == "7 heads × 2 functions"
    gates = gating_map(values[0], values[1]).ranking
    assert (gates.score, gates.correction) == ("mean facilitation over seeds", "7 heads")
    assert gates.advice == "use more seeds"


def test_integrated_gradients_are_shares_and_the_gradient_is_an_estimate():
    values = np.zeros((1, 1, 2))
    labels = [
        effects(values, method="attribution", settings={"steps": steps}).ranking.score
        for steps in (1, 64)
    ]
    assert labels[0] == "estimated fall of log P when removed (nats per token)"
    assert labels[1] == "share of the fall of log P when all heads are removed (nats per token)"


def test_a_map_without_importance_is_one_sentence():
    other = Map.of({"loss": (("layer", "head"), np.zeros((1, 2)))}, {})
    with pytest.raises(MapError, match="nothing about the importance of heads: it has loss"):
        other.to_dataframe()
