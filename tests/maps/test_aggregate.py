"""Aggregation over seeds and functions, and the errors of what it gives."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from headatlas.errors import MapError
from headatlas.maps import Map, aggregate
from headatlas.maps.aggregate import mean_bounds, next_interval, score_bounds
from maps.made_maps import BY_FUNCTION, SEEDED, effects, importances

numbers = st.floats(-1e6, 1e6, allow_nan=False)


@settings(derandomize=True, deadline=None, max_examples=50)
@given(arrays(float, (3, 2, 4), elements=numbers))
def test_rules_are_what_their_names_say(values):
    head_map = effects(values)
    for rule, function in {
        "mean": np.mean,
        "always": np.min,
        "any": np.max,
        "median": np.median,
    }.items():
        result = head_map.aggregate(rule)["effect"]
        assert result.dims == ("layer", "head")
        np.testing.assert_allclose(result, function(values, axis=0), rtol=1e-9, atol=1e-9)
    assert (head_map.aggregate("always")["effect"] <= head_map.aggregate("any")["effect"]).all()


def test_missing_heads_stay_missing():
    values = np.ones((3, 2, 4))
    values[:, 1, 3] = np.nan
    values[0, 0, 0] = np.nan
    for rule in ("mean", "median", "always", "any"):
        strict = effects(values).aggregate(rule)["effect"].to_numpy()
        lenient = effects(values).aggregate(rule, skip_missing=True)["effect"].to_numpy()
        assert np.isnan(strict[1, 3])
        assert np.isnan(lenient[1, 3])
        assert np.isnan(strict[0, 0])
        assert lenient[0, 0] == 1
        assert np.isfinite(strict[0, 1:]).all()


def test_aggregation_goes_over_any_dimension():
    values = np.arange(24.0).reshape(2, 3, 2, 2)
    head_map = Map.of({"importance": (BY_FUNCTION, values)}, {})
    assert head_map.aggregate("any", "function")["importance"].dims == SEEDED
    both = Map.of({"a": (BY_FUNCTION, values), "b": (("layer", "head"), values[0, 0])}, {})
    kept = aggregate(both.data, "mean", "seed")
    assert kept["b"].dims == ("layer", "head")
    with pytest.raises(MapError, match="no dimension 'epoch'"):
        head_map.aggregate("mean", "epoch")
    with pytest.raises(MapError, match="no rule 'most'"):
        head_map.aggregate("most")


def test_the_standard_error_of_a_mean_over_seeds():
    values = np.array([1.0, 2.0, 6.0]).reshape(3, 1, 1)
    errors = np.array([0.3, 0.4, 0.5]).reshape(3, 1, 1)
    head_map = Map.of({"effect": (SEEDED, values), "effect_se": (SEEDED, errors)}, {})
    between = np.var([1.0, 2.0, 6.0], ddof=1) / 3
    within = np.mean(np.square([0.3, 0.4, 0.5]))
    known = np.sqrt(between + within)
    assert head_map.aggregate("mean")["effect_se"].item() == pytest.approx(known)
    alone = Map(head_map.data.isel(seed=[0]), {})
    assert alone.aggregate("mean")["effect_se"].item() == pytest.approx(0.3)


def test_the_standard_error_is_right_where_seeds_share_their_questions():
    """Questions vary by 1, seeds by 2: means of 4 seeds over the same 25 questions vary so."""
    rng = np.random.default_rng(0)
    heads = 4000
    values = rng.normal(size=(1, 25, heads)) + 2 * rng.normal(size=(4, 1, heads))
    means, errors = values.mean(1), values.std(1, ddof=1) / 5  # seed head
    head_map = Map.of(
        {"effect": (SEEDED, means[:, None]), "effect_se": (SEEDED, errors[:, None])}, {}
    )
    reported = head_map.aggregate("mean")["effect_se"].to_numpy()
    assert np.sqrt(np.mean(reported**2)) == pytest.approx(means.mean(0).std(), rel=0.03)


def test_of_p_values_the_largest_counts_whatever_the_rule():
    p = np.array([0.01, 0.2, 0.03]).reshape(1, 3, 1, 1)
    head_map = importances(np.ones_like(p), p)
    for rule in ("mean", "median", "always", "any"):
        assert head_map.aggregate(rule)["importance_p"].item() == 0.2


def test_the_interval_of_a_mean_over_seeds_is_students():
    values = np.random.default_rng(0).normal(size=(5, 2, 3))
    values[:3, 0, 0] = np.nan
    values[:4, 1, 2] = np.nan
    bounds = mean_bounds(xr.DataArray(values, dims=SEEDED))
    for layer, head in ((0, 0), (0, 1), (1, 0)):
        own = values[:, layer, head]
        known = stats.ttest_1samp(own[np.isfinite(own)], 0).confidence_interval(0.95)
        assert bounds[:, layer, head].to_numpy() == pytest.approx([known.low, known.high])
    assert np.isnan(bounds[:, 1, 2]).all()  # one seed


@pytest.mark.parametrize(("often", "seeds"), [(0.9, 5), (0.9, 10), (0.5, 5), (0.95, 10)])
def test_scores_near_0_and_1_are_covered_where_students_interval_is_too_narrow(often, seeds):
    rng = np.random.default_rng(0)
    scores = np.where(rng.random((seeds, 1, 4000)) < often, 0.98, 0.02)
    truth = 0.98 * often + 0.02 * (1 - often)
    array = xr.DataArray(scores, dims=SEEDED)
    covered = {
        bounds: float(((made[0] <= truth) & (made[1] >= truth)).mean())
        for bounds, made in (("score", score_bounds(array)), ("mean", mean_bounds(array)))
    }
    assert covered["score"] > 0.91
    if (often, seeds) == (0.9, 5):  # all five alike in 59 % of cases: an interval without width
        assert covered["mean"] == pytest.approx(1 - 0.9**5, abs=0.03)
    assert covered["mean"] < 0.75 or often == 0.5


def test_scores_of_one_seed_have_no_interval():
    assert np.isnan(score_bounds(xr.DataArray(np.ones((1, 2, 3)), dims=SEEDED))).all()


def test_rules_other_than_the_mean_have_no_standard_error():
    assert effects(np.ones((3, 2, 2))).aggregate("any").variables == ["effect"]


def test_the_next_seed_lies_in_its_interval_as_often_as_it_says():
    noise = np.random.default_rng(0).normal(size=(6, 200, 25))
    values = xr.DataArray(noise, dims=SEEDED)
    bounds = next_interval(values.isel(seed=slice(0, 5)))
    inside = (noise[5] >= bounds.sel(bound="lower")) & (noise[5] <= bounds.sel(bound="upper"))
    assert float(inside.mean()) == pytest.approx(0.95, abs=0.015)
    assert bool(np.isnan(next_interval(values.isel(seed=[0]))).all())
