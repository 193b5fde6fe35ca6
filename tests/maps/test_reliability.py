"""What a gating map says about itself: a converged and an unconverged one are told apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from headatlas.errors import MapError
from headatlas.maps import Map, load_map
from headatlas.maps.convergence import held_gates
from headatlas.maps.reliability import Reliability, reliability
from maps.made_maps import effects
from small_things import gating_map

LAYERS, HEADS, POINTS = 6, 8, 21
SHAPE = (LAYERS, HEADS)


def fitted(
    seeds: int = 4, *, travelled: float = 1.0, agree: float = 0.9, updates: int = POINTS - 1
) -> Map:
    """A made-up map whose gates go from a random start to their place in `travelled` of the way.

    A share `agree` of the heads has the same place in every seed. After `updates` the fit has ended
    and gates stay where they are.
    """
    rng = np.random.default_rng(0)
    places = rng.choice([-5.0, 5.0], (2, *SHAPE))
    own = rng.random((seeds, *SHAPE)) >= agree
    start = rng.uniform(-2, 2, (seeds, *SHAPE))
    path = np.zeros((seeds, 3, POINTS, *SHAPE))
    for stage in range(3):
        end = np.where(own, rng.choice([-5.0, 5.0], (seeds, *SHAPE)), places[stage % 2])
        for point in range(POINTS):
            share = travelled * (0 if stage == 0 else min(point, updates) / (POINTS - 1))
            path[:, stage, point] = (1 - share) * start + share * end
    gates = 1 / (1 + np.exp(-path))
    plus, minus = gates[:, 1, -1], gates[:, 2, -1]
    losses = np.where(np.arange(POINTS - 1) < updates, 1.0, np.nan)
    losses = np.broadcast_to(losses, (seeds, 3, POINTS - 1))
    made = gating_map(plus, minus)
    data = made.data.assign(
        gate_path=(("seed", "stage", "point", "layer", "head"), gates)
    ).assign_coords(
        stage=["free", "plus", "minus"],
        point_step=(("stage", "point"), np.tile(np.arange(POINTS), (3, 1))),
        loss=(("seed", "stage", "step"), losses),
    )
    settings = {"pushed_learning_rate": [0.5, 0.1], "steps": POINTS - 1, "batch_size": 8}
    return Map(data, {**made.provenance, "settings": settings})


def test_a_converged_map_carries_no_warning():
    found = reliability(fitted())
    assert found.converged
    assert not found.warnings
    assert found.scores["facilitation"].mean_map > 0.9
    assert found.undecided < 0.05
    assert abs(found.from_start["facilitation"]) < 0.3


def test_a_map_that_hardly_left_its_start_means_nothing():
    found = reliability(fitted(travelled=0.1))
    assert found.meaningless
    assert "roles mean nothing yet" in found.warnings[0]
    assert found.from_start["facilitation"] > 0.5
    assert found.start_share > 0.5


def test_a_map_half_way_has_not_converged():
    found = reliability(fitted(travelled=0.42))
    assert not found.converged
    assert not found.meaningless
    assert found.warnings[0].startswith("not converged")


def test_a_fit_that_ended_on_its_way_has_not_converged():
    """Gates that stand still because the fit is over are not held by the data."""
    ended = reliability(fitted(updates=8))
    assert ended.fits["minus"].held == 0
    assert not ended.converged
    assert ended.fits["minus"].moved > 0


def test_one_seed_of_a_map_does_not_have_the_reliability_of_all():
    whole = fitted()
    stored = Map(whole.data, {**whole.provenance, "reliability": reliability(whole).as_dict()})
    assert reliability(stored.sel(seed=0)).seeds == 1
    assert reliability(stored.aggregate("mean")).seeds == 4


def test_some_seeds_of_a_map_do_not_have_the_reliability_of_all():
    whole = fitted()
    stored = Map(whole.data, {**whole.provenance, "reliability": reliability(whole).as_dict()})
    some = stored.sel(seed=[0, 1]).aggregate("mean")
    assert reliability(some) == reliability(whole.sel(seed=[0, 1]))
    assert some.reliability.seeds == 2


def test_interference_that_still_shows_its_start_is_told():
    """Gates that were pushed on late keep where they began: N then goes against the first gates."""
    found = replace(reliability(fitted()), from_start={"facilitation": 0.1, "interference": -0.4})
    assert not found.converged
    assert "correlation with the first gates 0.40" in found.warnings[0]


def test_seeds_that_disagree_and_too_few_seeds_are_told():
    assert any("agree too little" in each for each in reliability(fitted(agree=0.2)).warnings)
    few = reliability(fitted(seeds=2)).warnings
    assert any("2 seeds: too few" in each for each in few)
    one = reliability(fitted(seeds=1))
    assert any("1 seed: too few" in each for each in one.warnings)
    assert np.isnan(one.scores["facilitation"].mean_map)


def test_agreement_of_roles_is_told_beside_chance():
    found = reliability(fitted(agree=1.0)).roles
    assert found.kappa == pytest.approx(1)
    assert 0 < found.chance < found.agreement


def test_an_aggregated_map_keeps_what_was_known_of_its_seeds(tmp_path):
    whole = fitted()
    known = Map(whole.data, {**whole.provenance, "reliability": reliability(whole).as_dict()})
    path = known.aggregate("mean").save(tmp_path / "mean.nc")
    assert reliability(load_map(path)) == reliability(whole)
    assert Reliability.from_dict(reliability(whole).as_dict()) == reliability(whole)


def test_other_maps_have_none():
    other = effects(np.zeros((1, 2, 2)))
    assert other.reliability is None
    with pytest.raises(MapError, match="gating"):
        reliability(other)


def test_a_gate_is_held_only_if_its_drift_is_known_to_be_small():
    """Still at 0.5 with little noise: held. Drifting, or too noisy to tell: undecided."""
    rng = np.random.default_rng(0)
    travel = np.linspace(0, 150, 41)
    steps = rng.normal(size=(1, 41, 3, 200)) * np.array([0.002, 0.002, 0.5])[:, None]
    steps[:, :, 1] += 0.3
    logits = np.cumsum(steps, axis=1)
    logits -= logits[:, -1:]
    held = held_gates(1 / (1 + np.exp(-logits)), travel)[0].mean(1)
    assert held[0] > 0.99
    assert held[1] == 0
    assert held[2] < 0.1


def test_a_correlation_that_is_not_known_hides_no_other():
    stated = reliability(fitted())
    unknown = replace(stated, from_start={"facilitation": float("nan"), "interference": 0.95})
    assert unknown.start_correlation == 0.95
    assert not unknown.converged


def test_a_seed_without_numbers_leaves_the_others():
    made = fitted()
    there = made.data["seed"] != 1
    data = made.data.where(there).assign_coords(loss=made.data["loss"].where(there))
    missing = Map(data.transpose(..., "layer", "head"), made.provenance)
    stated = missing.reliability
    assert np.isnan([*stated.from_start.values(), stated.start_share]).all()
    assert np.isnan(stated.scores["facilitation"].mean_map)
    assert stated.losses == pytest.approx({"free": 1.0, "plus": 1.0, "minus": 1.0})
    assert stated.undecided == pytest.approx(made.sel(seed=[0, 2, 3]).reliability.undecided)
    mean = missing.aggregate("mean", skip_missing=True)
    expected = made.sel(seed=[0, 2, 3]).aggregate("mean")
    np.testing.assert_allclose(mean["facilitation"], expected["facilitation"])
    assert len(missing.top(3)) == 3


def test_a_head_that_only_the_first_gates_lack_is_left_out():
    made = fitted()
    path = made.data["gate_path"].copy()
    path.loc[{"seed": 2, "layer": 0, "head": 3}] = np.nan
    some = reliability(Map(made.data.assign(gate_path=path), made.provenance))
    assert some.from_start == pytest.approx(reliability(made).from_start, abs=0.1)
    assert np.isfinite(some.start_share)


def test_a_free_fit_above_a_pushed_one_is_told():
    made = fitted()
    losses = made.data["loss"].copy()
    losses.loc[{"stage": "free", "seed": [0, 1]}] = 3.0
    stated = reliability(Map(made.data.assign_coords(loss=losses), made.provenance))
    assert stated.losses == pytest.approx({"free": 2.0, "plus": 1.0, "minus": 1.0})
    assert stated.free_above == 2
    assert "in 2 of 4 seeds G ended above" in stated.sentences()[-1]
    assert "ended above" not in reliability(made).sentences()[-1]


def test_one_fit_of_a_map_is_ranked():
    one = fitted().sel(stage="plus")
    assert len(one.top(3)) == 3
