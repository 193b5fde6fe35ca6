"""Knockout: what it measures is what ablation measures, and it counts what it does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from headatlas.errors import HeadAtlasError
from headatlas.maps import combine
from headatlas.maps.halves import ONE_SEARCH, halves, why_unknown
from headatlas.methods import Ablation, Knockout
from headatlas.tasks import Example, Task

TASK = Task.of("letters", [Example(f"{i} ab ab a", "b") for i in range(40)])


@pytest.mark.parametrize("replacement", ["zero", "mean", "resample"])
def test_a_head_removed_alone_has_the_effect_of_ablation(tiny, replacement):
    settings = {"examples": 4, "replacement": replacement}
    found = Knockout(**settings, evaluations=40).run(tiny, TASK)
    exact = Ablation(**settings).run(tiny, TASK)
    alone = found["alone"].to_numpy() == 1
    assert alone.sum() >= 4
    difference = (found["effect"] - exact["effect"]).to_numpy()
    assert np.abs(difference[alone]).max() < 1e-4
    assert np.isfinite(found["effect_se"].to_numpy()[alone]).all()


def test_estimates_have_no_standard_error_and_evaluations_are_counted(tiny):
    found = Knockout(examples=4, evaluations=10).run(tiny, TASK)
    estimated = found["alone"].to_numpy() == 0
    assert estimated.any()
    assert np.isnan(found["effect_se"].to_numpy()[estimated]).all()
    assert np.isfinite(found["effect"].to_numpy()).all()
    assert found.provenance["evaluations"] == 10
    assert Knockout(evaluations=10).forward_passes(tiny, 4) == 44


def test_only_several_seeds_tell_how_reliable_a_search_is(tiny):
    method = Knockout(examples=4, evaluations=10)
    parts = [method.run(tiny, TASK, seed) for seed in range(2)]
    half, alone = parts[0]["effect_half"].to_numpy(), parts[0]["alone"].to_numpy()
    assert np.isnan(half[:, alone == 0]).all()
    assert np.isfinite(half[:, alone > 0]).all()
    assert halves(parts[0]) is None
    assert why_unknown(parts[0]) == ONE_SEARCH
    both = halves(combine(parts))
    np.testing.assert_array_equal(both.one, -parts[0]["effect"][0])
    np.testing.assert_array_equal(both.other, -parts[1]["effect"][0])


def test_p_values_are_corrected_for_heads_that_were_not_removed_alone(tiny):
    found = Knockout(examples=4, evaluations=14).run(tiny, TASK)
    table = found.to_dataframe()
    tested = table["p"].notna()
    assert 0 < tested.sum() < len(table) == 12
    statistic = np.abs(table["effect"] / table["effect_se"])[tested]
    smallest = 2 * stats.t.sf(statistic.max(), int(found["questions"][0]) - 1)
    assert table["p"].min() == pytest.approx(min(1, 12 * smallest))


def test_a_third_of_the_heads_is_the_usual_number(tiny):
    heads = len(tiny.spec.heads())
    assert Knockout().evaluations_of(tiny.spec) == max(48, heads // 3)
    with pytest.raises(HeadAtlasError, match="at least 2 evaluations"):
        Knockout(evaluations=1)


@pytest.mark.long
@pytest.mark.parametrize("task", ["ioi", "induction"])
def test_most_of_the_true_top_ten_are_found_with_a_third_of_the_removals(embedded, task):
    """Settings were chosen on other tasks (singular-plural and present-past)."""
    from headatlas.tasks import load_task

    subject = load_task(task)
    exact = Ablation().run(embedded, subject)["effect"].to_numpy().ravel()
    found = Knockout().run(embedded, subject)
    assert found.provenance["evaluations"] <= len(exact) / 3
    top = np.argsort(exact)[:10]
    assert len(set(top) & set(np.argsort(found["effect"].to_numpy().ravel())[:10])) >= 8
