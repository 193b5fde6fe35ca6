"""Causal mediation against gating: which heads mediate, and whether they facilitate more."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind

from headatlas.errors import MapError
from headatlas.maps import Map, Mediation, mediation_of
from maps.made_maps import SEEDED, effects
from small_things import gating_map

SHAPE = (20, 6)
STRONG = ((3, 1), (7, 2), (11, 5))


def patched(strong=STRONG, noise=0.05, variable="indirect_effect", **facts):
    """Small random effects, and large ones of the strong heads: …, 1.2, 1.1, 1"""
    values = np.random.default_rng(0).normal(size=(1, *SHAPE)) * noise
    for number, (layer, head) in enumerate(strong):
        values[0, layer, head] = 1 + 0.1 * (len(strong) - 1 - number)
    known = {"model": "m", "task": "t", "method": "patching", **facts}
    return Map.of({variable: (SEEDED, values)}, known, {"seed": [0]})


def gated(facilitating=STRONG, seeds=3, **facts):
    """F is below 0.6, but above 0.9 in some seed for these heads."""
    scores = np.random.default_rng(1).random((seeds, *SHAPE)) * 0.6
    for number, (layer, head) in enumerate(facilitating):
        scores[number % seeds, layer, head] = 0.9 + 0.02 * number
    return gating_map(np.ones_like(scores), scores, **facts)


def test_heads_above_mean_and_three_deviations_mediate():
    found = mediation_of(patched(), gated())
    values = patched()["indirect_effect"].to_numpy()
    assert found.threshold == pytest.approx(values.mean() + 3 * values.std(ddof=1))
    assert [(row.layer, row.head) for row in found.mediating] == list(STRONG)
    assert [row.effect for row in found.mediating] == pytest.approx([1.2, 1.1, 1])
    assert [row.facilitation for row in found.mediating] == pytest.approx([0.9, 0.92, 0.94])
    assert len(found.rows) == 120
    assert [row.effect for row in found.rows] == sorted(r.effect for r in found.rows)[::-1]


def test_the_largest_facilitation_over_seeds_is_tested_as_published():
    gating = gated()
    largest = gating["facilitation"].max("seed").to_numpy()
    strong = np.zeros(SHAPE, bool)
    strong[tuple(zip(*STRONG, strict=True))] = True
    expected = ttest_ind(largest[strong], largest[~strong], equal_var=False)
    found = mediation_of(patched(), gating)
    assert (found.t, found.df, found.p) == pytest.approx(
        (expected.statistic, expected.df, expected.pvalue)
    )
    interval = expected.confidence_interval(0.95)
    difference = found.difference
    assert (difference.low, difference.high) == pytest.approx((interval.low, interval.high))
    assert difference.mean == pytest.approx(found.mediating_mean - found.other_mean)
    assert found.seeds == 3
    *_, which, last = found.summary()
    assert which.startswith("t: 3 of 120 heads mediate (indirect effect on log P (nats per token)")
    assert which.endswith("standard deviations): 3.1, 7.2, 11.5")
    assert "largest facilitation over 3 seeds: 0.92 on average where heads mediate" in last
    assert f"Welch's t({expected.df:.2f}) = {expected.statistic:.2f}: " in last
    assert found.layers.p < 0.01
    assert found.layers.auroc > 0.95
    assert last.endswith(": heads that mediate facilitate more than others of their layers")


def test_what_was_planted_the_other_way_is_told():
    other = ((0, 0), (1, 1), (2, 2))
    low = gated(other)
    for layer, head in STRONG:
        low.data["facilitation"][:, layer, head] = 0.01 * layer
    for gating in (low, gated(((3, 1),))):
        found = mediation_of(patched(), gating)
        assert found.layers.p > 0.05
        assert "are not shown to facilitate more" in found.summary()[-1]


def test_few_heads_with_equal_scores_do_not_convince_alone():
    """Most heads reach 1 in some seed: Welch's test is sure of two such heads, their ranks not."""
    gating = gated()
    gating.data["facilitation"][0, 3:] = 1.0
    found = mediation_of(patched(STRONG[:2]), gating)
    assert found.p < 0.001
    assert found.layers.p > 0.05
    assert "are not shown to facilitate more" in found.summary()[-1]
    assert "only 2 heads mediate: Welch's test is unreliable" in found.warnings


def test_depth_alone_is_no_evidence():
    """All heads of a layer facilitate, and three of them mediate."""
    gating = gated(())
    gating.data["facilitation"][0, 7] = np.linspace(0.9, 0.99, SHAPE[1])
    found = mediation_of(patched(((7, 1), (7, 3), (7, 4))), gating)
    assert found.p < 0.01
    assert found.layers.expected > 0.9
    assert "are not shown to facilitate more" in found.summary()[-1]


def test_no_head_that_mediates_is_not_tested_and_one_by_its_layer():
    flat = patched(())
    flat.data["indirect_effect"][:] = np.tile([0.1, 0.2], 60).reshape(1, *SHAPE)
    none, one = mediation_of(flat, gated()), mediation_of(patched(STRONG[:1]), gated())
    for found, count in ((none, 0), (one, 1)):
        assert len(found.mediating) == count
        assert all(map(math.isnan, (found.t, found.df, found.p)))
        assert "nan" not in " ".join(found.summary())
    assert "no head stands out, so there is nothing to compare" in none.summary()[-1]
    assert none.test == "no test: no head mediates"
    assert "Welch" not in one.test
    assert one.summary()[-1].endswith("too few heads to test (smallest possible p 0.17)")
    assert one.difference.mean == pytest.approx(0.9 - one.other_mean)
    equal = gated()
    equal.data["facilitation"][:] = 0.5
    assert "are not shown to facilitate more" in mediation_of(patched(), equal).summary()[-1]


def test_one_head_that_mediates_is_tested_where_layers_are_wide():
    effect, gates = np.zeros((1, 4, 30)), np.random.default_rng(0).uniform(0, 0.5, (1, 4, 30))
    effect[0, 1, 2] = gates[0, 1, 2] = 0.9
    dims = ("seed", "layer", "head")
    patching = Map.of({"indirect_effect": (dims, effect)}, {"method": "patching"})
    scores = dict.fromkeys(("facilitation", "interference", "irrelevance"), (dims, gates))
    found = mediation_of(patching, Map.of(scores, {"method": "gating"}))
    assert found.layers.least_p == pytest.approx(1 / 30)
    assert found.summary()[-1].endswith("mediate facilitate more than others of their layers")


def test_one_seed_is_said():
    found = mediation_of(patched(), gated(seeds=1))
    assert found.summary()[0].startswith("CAUTION: the gating map has one seed")
    assert "in the only seed" in found.summary()[-1]
    assert mediation_of(patched(), gated().sel(seed=1)).seeds == 1
    several = mediation_of(patched(), gated()).warnings
    assert not any("one seed" in warning for warning in several)


def test_noising_alone_counts_as_what_the_clean_run_loses():
    lost = patched(variable="effect")
    lost.data["effect"][:] *= -1
    found = mediation_of(lost, gated())
    assert [row.name for row in found.mediating] == ["3.1", "7.2", "11.5"]
    assert found.effect == "fall of log P when corrupted (nats per token)"


def test_heads_that_either_map_lacks_are_left_out():
    patching, gating = patched(), gated()
    patching.data["indirect_effect"][0, 0, 0] = np.nan
    gating.data["facilitation"][:, 0, 1] = np.nan
    found = mediation_of(patching, gating)
    assert len(found.rows) == 118
    assert not {"0.0", "0.1"} & {row.name for row in found.rows}
    assert not math.isnan(found.t)


def test_the_result_names_its_maps_and_tasks():
    patching, gating = patched(task="a:icl"), gated(task="a")
    found = mediation_of(patching, gating)
    assert found.maps == (patching.name, gating.name)
    assert (found.model, found.task) == ("m", "a:icl / a")
    assert found.file_name.startswith("m.a-icl.patching+1-more-")
    assert Mediation.from_dict(found.as_dict()) == found


def test_maps_that_do_not_fit_are_one_sentence():
    for maps, sentence in (
        (
            (effects(np.zeros((1, *SHAPE))), gated()),
            "by a patching map: the first is of 'ablation'",
        ),
        ((patched(), patched()), "from a gating map: the second is of 'patching'"),
        ((patched(), gated().aggregate("mean")), "aggregated over seeds: give the one with all"),
        ((patched(), gated(model="n")), "the maps are of different models: m and n"),
        ((patched(), gated().sel(layer=[0, 1])), "maps of different heads cannot be compared"),
    ):
        with pytest.raises(MapError, match=sentence) as caught:
            mediation_of(*maps)
        assert "\n" not in str(caught.value)
    few = patched()
    few.data["indirect_effect"][0, 1:] = np.nan
    few.data["indirect_effect"][0, 0, 2:] = np.nan
    with pytest.raises(MapError, match="at least 3 heads in common, but have 2"):
        mediation_of(few, gated())
