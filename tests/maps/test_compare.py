"""Comparing maps of two methods, tasks or functions."""

from __future__ import annotations

import numpy as np
import pytest

from headatlas.errors import MapError
from headatlas.maps import Comparison, Map, compare_maps
from headatlas.maps.labels import distinct_labels
from maps.made_maps import contrasted, effects, importances, question_halves
from small_things import gating_map

VALUES = np.random.default_rng(0).random((2, 6, 4))


def only(comparison):
    (row,) = comparison.rows
    return row


def test_signs_are_aligned_so_that_larger_is_more_important():
    """What ablation loses, gating facilitates, contrast closes: one order of heads."""
    maps = [
        gating_map(np.ones_like(VALUES), VALUES),
        effects(-VALUES),
        contrasted(1 - VALUES),
        effects(-VALUES, task="another"),
    ]
    for other in maps[1:]:
        row = only(maps[0].agreement(other, top_k=5))
        assert row.spearman == pytest.approx(1)
        assert row.within == pytest.approx(1)
        assert row.top_overlap == 1
        assert row.heads == 24
    assert only(maps[0].agreement(effects(VALUES))).spearman == pytest.approx(-1)


def test_top_heads_that_are_all_heads_are_not_counted():
    one, other = effects(-VALUES), effects(-VALUES, task="u")
    assert "most important heads they share" in compare_maps(one, other, top_k=5).summary()[0]
    assert "share" not in compare_maps(one, other, top_k=24).summary()[0]


@pytest.mark.parametrize(("heads", "known"), [(9, False), (10, True)])
def test_few_heads_have_no_interval(heads, known):
    """Three heads in the same order are no proof of anything."""
    few = np.full((1, 6, 4), np.nan)
    few.reshape(-1)[:heads] = np.arange(heads)
    comparison = compare_maps(effects(few), effects(few, task="u"))
    row = only(comparison)
    assert row.spearman == pytest.approx(1)
    assert np.isfinite(row.low) == np.isfinite(row.within_low) == known
    assert ("fewer than 10 heads in common" in row.unknown) == (not known)
    assert ("+1.00 (–) over 9 heads" in comparison.summary()[0]) == (not known)


def test_seeds_are_averaged():
    noise = np.random.default_rng(1).normal(size=VALUES.shape)
    noise[1] = -noise[0]
    row = only(compare_maps(effects(-VALUES[:1]), effects(-VALUES[:1] + noise, task="u")))
    assert row.spearman == pytest.approx(1)


def test_agreement_within_layers_leaves_depth_out():
    depth = np.arange(6.0)[:, None] * np.ones((6, 4))
    rng = np.random.default_rng(2)
    one, other = (effects(-(100 * depth + rng.normal(size=(6, 4)))[None], task=t) for t in "ab")
    row = only(compare_maps(one, other))
    assert row.spearman > 0.9
    assert row.within < 0.6
    assert row.within_low < row.within < row.within_high


def test_functions_are_compared_one_by_one():
    values = np.random.default_rng(0).random((2, 1, 6, 4))
    other = values.copy()
    other[1] = -other[1]
    comparison = compare_maps(importances(values), effects(-other, questions=[5, 5]))
    assert [(row.function, round(row.spearman)) for row in comparison.rows] == [
        ("f0", 1),
        ("f1", -1),
    ]
    whole = compare_maps(importances(values), gating_map(VALUES[:1], values[0]))
    assert [row.function for row in whole.rows] == ["f0", "f1"]
    assert whole.rows[0].spearman == pytest.approx(1)
    strange = importances(values)
    strange = Map(strange.data.assign_coords(function=["x", "y"]), strange.provenance)
    with pytest.raises(MapError, match="no function in common"):
        compare_maps(importances(values), strange)


def test_maps_are_called_by_what_tells_them_apart():
    gates = gating_map(np.ones_like(VALUES), VALUES)
    assert only(compare_maps(gates, effects(VALUES))).pair == ("gating", "ablation")
    assert only(compare_maps(effects(VALUES), effects(VALUES, task="u"))).pair == ("t", "u")
    assert only(compare_maps(effects(VALUES), effects(VALUES, model="n"))).pair == ("m", "n")
    long, short = effects(VALUES, settings={"examples": 64}), effects(VALUES)
    assert only(compare_maps(long, short)).pair == (long.name, short.name)
    comparison = compare_maps(effects(VALUES), effects(VALUES, task="u"))
    assert (comparison.model, comparison.task) == ("m", "t / u")
    assert "rank correlation +1.00" in comparison.summary()[0]
    assert isinstance(comparison, Comparison)


def ablated(replacement, **facts):
    return effects(-VALUES, settings={"replacement": replacement}, **facts)


def test_several_maps_have_the_shortest_labels_that_differ():
    gates, lost, zeros = gating_map(VALUES, VALUES), ablated("mean"), ablated("zero")
    assert distinct_labels([gates, lost]) == ("gating", "ablation")
    assert distinct_labels([gates, lost, zeros]) == (
        "gating",
        "ablation (mean)",
        "ablation (zero)",
    )
    tasks = [ablated("mean", task=task) for task in "abc"]
    assert distinct_labels(tasks) == ("a", "b", "c")
    assert distinct_labels([*tasks, ablated("zero", task="a")])[-1] == "ablation (zero), a"
    models = [ablated("mean", model=model) for model in "mno"]
    assert distinct_labels(models) == ("m", "n", "o")
    sizes = [effects(VALUES, settings={"examples": count}) for count in (1, 2, 3)]
    assert distinct_labels(sizes) == tuple(head_map.name for head_map in sizes)
    assert distinct_labels([lost, lost]) == (f"{lost.name} (1)", f"{lost.name} (2)")


def test_several_maps_are_compared_pair_by_pair():
    rng = np.random.default_rng(3)
    maps = [
        gating_map(VALUES, VALUES + rng.normal(size=VALUES.shape)),
        ablated("mean"),
        ablated("zero"),
    ]
    comparison = compare_maps(*maps)
    assert comparison.labels == ("gating", "ablation (mean)", "ablation (zero)")
    assert [row.pair for row in comparison.rows] == [
        ("gating", "ablation (mean)"),
        ("gating", "ablation (zero)"),
        ("ablation (mean)", "ablation (zero)"),
    ]
    for row, (one, other) in zip(comparison.rows, ((0, 1), (0, 2), (1, 2)), strict=True):
        alone = only(compare_maps(maps[one], maps[other]))
        assert (row.spearman, row.low, row.within) == (alone.spearman, alone.low, alone.within)
    assert comparison.functions == (None,)
    assert comparison.maps == tuple(head_map.name for head_map in maps)
    with pytest.raises(MapError, match=r"^a comparison needs two or more maps, not 1\.$"):
        compare_maps(maps[0])


def test_a_comparison_says_what_its_maps_share():
    one, other = ablated("mean"), ablated("zero")
    several = compare_maps(gating_map(VALUES, VALUES), one, other)
    assert (several.subject, several.method) == ("t", "gating / ablation (mean) / ablation (zero)")
    assert several.file_name.startswith("m.t.3-maps-")
    tasks = [ablated("mean", task=task) for task in "abc"]
    assert compare_maps(*tasks).subject == "ablation (mean)"
    assert compare_maps(*tasks).file_name.startswith("m.ablation-mean.3-maps-")
    assert compare_maps(*tasks[:2]).file_name.startswith("m.a.ablation+1-more-")
    assert compare_maps(one, ablated("mean", model="n")).subject == "t, ablation (mean)"
    assert compare_maps(gating_map(VALUES, VALUES), tasks[0]).subject == "t / a"
    assert compare_maps(one, other).figures == ("agreement",)
    assert several.figures == ("agreement-matrix",)


def test_maps_that_cannot_be_compared_are_one_sentence():
    with pytest.raises(MapError, match="maps of different heads cannot be compared: 6 layers × 4"):
        compare_maps(effects(VALUES), effects(VALUES[:, :5]))
    other = Map.of({"loss": (("layer", "head"), np.zeros((6, 4)))}, {})
    with pytest.raises(MapError, match="nothing about the importance of heads: it has loss"):
        compare_maps(effects(VALUES), other)


def test_maps_that_differ_in_noise_alone_reach_their_ceiling():
    rng = np.random.default_rng(5)
    truth = rng.normal(size=(30, 9))
    one, other = (effects(truth + rng.normal(size=(4, 30, 9)), task=name) for name in "ab")
    row = only(compare_maps(one, other))
    assert row.reliability == pytest.approx((0.8, 0.8), abs=0.08)  # of means of four seeds
    assert row.spearman == pytest.approx(row.ceiling, abs=0.08)
    assert row.disattenuated_low < 1 < row.disattenuated_high
    assert "ceiling" in compare_maps(one, other).summary()[0]
    assert np.isnan(only(compare_maps(one, effects(truth[None], task="u"))).ceiling)


def measured_together(correlation, shared, rng, **facts):
    """Two maps of one seed whose true importances correlate, with errors that agree in part."""
    shape = (30, 9)
    x = rng.normal(size=shape)
    y = correlation * x + np.sqrt(1 - correlation**2) * rng.normal(size=shape)
    error = rng.normal(size=(2, 1, *shape))
    halves_of_both = [
        truth + np.sqrt(shared) * error + np.sqrt(1 - shared) * rng.normal(size=error.shape)
        for truth in (x, y)
    ]
    one, other = (
        question_halves(values, method=name, **facts)
        for name, values in zip(("ablation", "attribution"), halves_of_both, strict=True)
    )
    return one, other


def test_errors_that_maps_of_the_same_questions_share_are_no_agreement():
    rng = np.random.default_rng(1)
    rows = [only(compare_maps(*measured_together(0.0, 0.8, rng))) for _ in range(30)]
    assert np.mean([row.spearman for row in rows]) > 0.2
    assert np.mean([row.disattenuated for row in rows]) == pytest.approx(0, abs=0.05)
    assert np.mean([row.within_disattenuated for row in rows]) == pytest.approx(0, abs=0.05)
    assert sum(row.disattenuated_low <= 0 <= row.disattenuated_high for row in rows) >= 26


def test_maps_that_share_questions_in_other_halves_have_no_correlation_without_noise():
    rng = np.random.default_rng(1)
    one, other = measured_together(0.5, 0.5, rng, examples_used=8)
    longer = Map(other.data, {**other.provenance, "examples_used": 7})
    row = only(compare_maps(one, longer))
    assert row.reliability[0] > 0.5
    assert np.isnan(row.disattenuated)
    assert "without noise not known: the maps overlap in some questions" in row.ceiling_text()


def test_a_comparison_says_why_reliability_is_not_known():
    rng = np.random.default_rng(1)
    maps = measured_together(0.5, 0.5, rng, task_form="icl=3")
    row = only(compare_maps(*maps))
    assert np.isnan(row.reliability).all()
    assert row.ceiling_text() == (
        "the maps' reliability is not known: one seed: all questions follow the same "
        "demonstrations; use --seeds 2"
    )
