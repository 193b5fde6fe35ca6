"""Runs that end once a map is stable, or when the time is up."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import headatlas as ha
from headatlas.runs import engine, stopping
from headatlas.runs.stopping import STABLE_SEEDS, StoppingRule
from small_things import gating_map, write_task

GATING = ha.Gating(steps=2, batch_size=4)


@pytest.fixture
def atlas(tiny, tmp_path):
    return ha.Atlas(tmp_path / "out", tiny, progress=None)


@pytest.fixture
def task(tmp_path):
    return ha.load_task(write_task(tmp_path / "task.jsonl", count=24))


@pytest.fixture
def steadier_with_every_seed(monkeypatch):
    """As if two seeds gave 0.1, three 0.2, four 0.3 and so on."""
    monkeypatch.setattr(stopping, "reached", lambda gates: 0.1 * gates.data.sizes["seed"] - 0.1)


@pytest.mark.usefixtures("steadier_with_every_seed")
def test_seeds_are_added_until_the_map_is_stable(atlas, task):
    gates = atlas.map(GATING, task, 10, baseline=False, until_stable=0.55)
    assert gates.data.sizes["seed"] == 7
    assert gates.provenance["stopped"].startswith("reached 0.55")
    assert "unfinished" not in gates.provenance


@pytest.mark.usefixtures("steadier_with_every_seed")
def test_a_few_seeds_are_never_enough(atlas, task):
    gates = atlas.map(GATING, task, 10, baseline=False, until_stable=0.1)
    assert gates.data.sizes["seed"] == STABLE_SEEDS


@pytest.mark.usefixtures("steadier_with_every_seed")
def test_a_map_that_does_not_become_stable_says_so(atlas, task):
    gates = atlas.map(GATING, task, 7, baseline=False, until_stable=0.9)
    assert gates.data.sizes["seed"] == 7
    assert gates.provenance["stopped"].startswith("did not reach 0.9")
    assert "(lower bound over layers and seeds)" in gates.provenance["stopped"]
    assert any("did not reach 0.9" in line for line in atlas.summary(gates))


@pytest.mark.usefixtures("steadier_with_every_seed")
def test_without_a_number_of_seeds_there_are_as_many_as_it_takes(atlas, task):
    gates = atlas.map(GATING, task, baseline=False, until_stable=0.55)
    assert gates.data.sizes["seed"] == 7
    with pytest.raises(ha.HeadAtlasError, match="needs at least 6 seeds, not 3"):
        atlas.map(GATING, task, 3, until_stable=0.9)


@pytest.mark.usefixtures("steadier_with_every_seed")
def test_seeds_that_are_there_count(atlas, task):
    """After an interruption the run goes on with the next seed."""
    atlas.map(GATING, task, 6, baseline=False)
    gates = atlas.map(GATING, task, 10, baseline=False, until_stable=0.55)
    assert gates.data.sizes["seed"] == 7
    assert len(atlas.records[-1]["units"]["computed"]) == 1


def test_no_seed_is_begun_that_would_end_too_late(atlas, task):
    gates = atlas.map(GATING, task, 10, baseline=False, seconds=1e-6)
    assert gates.data.sizes["seed"] == 1
    assert "unfinished" not in gates.provenance
    assert gates.provenance["stopped"] == "1 seed in the time given"


def test_the_lower_bounds_of_both_scores_count():
    """Seeds that agree on facilitation alone are not stable."""
    rng = np.random.default_rng(0)
    same, noise = np.tile(rng.random((1, 6, 9)), (6, 1, 1)), rng.random((6, 6, 9))
    assert not StoppingRule(stable=0.5).is_stable(None)
    assert StoppingRule(stable=0.9).is_stable(gating_map(same, same))
    assert not StoppingRule(stable=0.5).is_stable(gating_map(noise, same))
    assert not StoppingRule(stable=0.5).is_stable(gating_map(same, noise))


@pytest.fixture
def fits_take(monkeypatch):
    """Replace the clock: it moves in fits alone, by the seconds given for each seed. Seeds among
    `diverging` then diverge."""

    def replace_clock(seconds, diverging=()):
        now, plain = [0.0], ha.Gating.run

        def run(self, model, task, seed, **named):
            now[0] += seconds[seed]
            if seed in diverging:
                raise ha.DivergedError(f"seed {seed} diverged.")
            return plain(self, model, task, seed, **named)

        monkeypatch.setattr(ha.Gating, "run", run)
        for place in (engine, stopping):
            monkeypatch.setattr(place, "time", SimpleNamespace(perf_counter=lambda: now[0]))

    return replace_clock


def test_a_time_alone_is_no_limit_of_seeds(atlas, task, fits_take):
    """The third seed ends after 9 s, a fourth would after 12 s."""
    fits_take([3.0] * 5)
    several = atlas.map(GATING, task, baseline=False, seconds=10.0)
    assert several["seed"].to_numpy().tolist() == [0, 1, 2]


def test_seeds_that_diverge_take_time_too(atlas, task, fits_take):
    """After 8 s a third seed is expected to take 4 s, not the 2 s of the one that gave a map."""
    fits_take([2.0, 6.0, 2.0, 2.0, 2.0], diverging=[1])
    one = atlas.map(GATING, task, baseline=False, seconds=11.0)
    assert one["seed"].to_numpy().tolist() == [0]
    assert list(one.provenance["diverged_seeds"]) == ["1"]


@pytest.mark.parametrize("wrong", [{"until_stable": 1.0}, {"until_stable": 0}, {"seconds": 0}])
def test_rules_that_make_no_sense_are_refused(atlas, task, wrong):
    with pytest.raises(ha.HeadAtlasError):
        atlas.map(GATING, task, 2, **wrong)


def test_only_gating_has_such_rules(atlas, task):
    with pytest.raises(ha.HeadAtlasError, match="only gating"):
        atlas.map(ha.Ablation(examples=2), task, 1, seconds=10)
