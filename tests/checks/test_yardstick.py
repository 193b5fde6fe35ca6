"""The yardstick: what it measures, and what it says where there is nothing to measure."""

from __future__ import annotations

import gc
from dataclasses import replace
from math import isnan
from weakref import WeakSet

import numpy as np
import pytest
import torch

from headatlas.checks.context import CheckContext
from headatlas.checks.results import About
from headatlas.checks.yardstick import questions as questions_module
from headatlas.checks.yardstick.cost import forward_passes
from headatlas.checks.yardstick.curves import REMOVED, keep_shares
from headatlas.checks.yardstick.faithfulness import check_faithfulness
from headatlas.checks.yardstick.order import can_be_judged
from headatlas.checks.yardstick.questions import RemovalQuestions
from headatlas.errors import TaskError
from headatlas.maps import Map, combine
from headatlas.methods import Ablation, Gating
from headatlas.models.edit import Edit
from headatlas.models.run.sweep import Sweep
from headatlas.stats.intervals import Change
from headatlas.tasks import Example, Form, Task
from plots import made_up

QUESTIONS = 8


def words(count=40):
    return [Example(f"{'ab' * (i % 3 + 1)} {i}", f" {i % 10}") for i in range(count)]


@pytest.fixture(scope="module")
def task():
    return Task.of("words", words())


@pytest.fixture(scope="module")
def head_map(tiny, task):
    return Ablation(examples=4, replacement="mean").run(tiny, task)


@pytest.fixture
def judged(tiny, task, head_map):
    """The check, with made-up measurements; `names` are those that it keeps."""

    def run(whole, empty, names=None, look=1):
        def keep(name, compute):
            if names is not None:
                names.append(name)
            steps = {"keep": len(keep_shares()), "remove": len(REMOVED)}
            kept = {
                curve: np.linspace(empty, whole, number) for curve, number in steps.items()
            }  # point question
            kept["remove"] = kept["remove"][::-1]
            return {curve: values.tolist() for curve, values in kept.items()}

        about = About(head_map.name, "hash", "tiny", task.name, QUESTIONS, look=look)
        options = {"replacement": "mean", "measure": "logprob"}
        return check_faithfulness(
            CheckContext(tiny, task, head_map, about, {}, keep, options=options)
        )

    return run


def test_a_model_that_needs_its_heads_has_all_scores(judged):
    noise = np.random.default_rng(0).normal(0, 0.1, QUESTIONS)
    result = judged(-1 + noise, np.full(QUESTIONS, -3.0))
    assert result.needs_heads
    assert not any(isnan(score.value.mean) for score in result.scores.values())
    assert [point.mean for point in result.keep.value][-1] == pytest.approx(1.0)
    assert len(result.summary()) == 6


@pytest.mark.parametrize("difference", [-1.0, 0.05])
def test_without_a_shown_need_for_heads_there_is_no_faithfulness(judged, difference):
    """Heads that do harm, and a small difference among large noise."""
    noise = np.random.default_rng(0).normal(0, 0.5, QUESTIONS)
    noise -= noise.mean()
    result = judged(-3 + difference + noise, np.full(QUESTIONS, -3.0))
    assert not result.needs_heads
    known = [name for name, score in result.scores.items() if not isnan(score.value.mean)]
    assert known == ["gain"]
    assert all(isnan(point.mean) for curve in (result.keep, result.remove) for point in curve.value)
    _, unknown, gain = result.summary()
    assert "is not shown to need its heads for this task" in unknown
    assert gain.startswith("gain when")


def test_a_need_for_heads_does_not_depend_on_how_often_a_map_was_looked_at(judged):
    noise = np.random.default_rng(0).normal(0, 0.5, QUESTIONS)
    first, later = (judged(-2.75 + noise, np.full(QUESTIONS, -3.0), look=n) for n in (1, 5))
    assert first.needed == later.needed
    assert later.about.level > first.about.level


def test_maps_of_pairs_of_tasks_are_not_judged():
    scores = {"gate": (("seed", "layer", "head"), np.zeros((1, 2, 2)))}
    facts = {"method": "contrast", "model": "m", "task": "a-not-b"}
    assert not can_be_judged(Map.of(scores, facts, {"seed": [0]}))
    scores = {"effect": (("seed", "layer", "head"), np.zeros((1, 2, 2)))}
    assert can_be_judged(Map.of(scores, facts | {"method": "ablation"}, {"seed": [0]}))
    assert can_be_judged(Map.of(scores, facts | {"method": "of my own"}, {"seed": [0]}))


def test_the_cost_of_gating_is_known(tiny, task):
    gates = combine([Gating(steps=3, batch_size=4).run(tiny, task, seed) for seed in range(2)])
    assert forward_passes(gates, tiny) == 2 * 2 * 4 * (2 + 3 + 3)  # seeds, gradient, batch, updates


def test_no_difference_is_not_called_a_difference():
    made = made_up.faithfulness()
    score = replace(made.scores["cpr"], better=Change(-0.225, -0.5, 0.05))
    _, line, *_ = replace(made, scores={**made.scores, "cpr": score}).summary()
    assert line.endswith("shuffled 0.400: no difference shown (-0.225, -0.500 … +0.050)")


def test_what_is_kept_has_the_names_that_stored_measurements_have(judged, tiny, task):
    names = []
    judged(np.linspace(-1.1, -0.9, QUESTIONS), np.full(QUESTIONS, -3.0), names)
    assert names == ["the map's own order", *(f"shuffled order {i}" for i in range(1, 5))]
    other = RemovalQuestions(tiny, task, QUESTIONS, "resample", "logprob")
    assert other.piece("name") != "name"


def test_every_batch_has_its_own_donors_where_heads_are_resampled(tiny, monkeypatch):
    task = replace(Task.of("shots", words(200)), form=Form("icl", 2))
    seeds, plan = [], questions_module.removal_plan

    def recorded(model, task, own, replacement, seed):
        seeds.append(seed)
        return plan(model, task, own, replacement, seed)

    monkeypatch.setattr(questions_module, "removal_plan", recorded)
    for replacement, expected in (("resample", [0, 1, 2, 3]), ("mean", [0, 0, 0, 0])):
        seeds.clear()
        RemovalQuestions(tiny, task, 12, replacement, "logprob").values([[]])
        assert seeds == expected


def test_values_are_those_of_an_edit_and_one_sweep_is_alive_at_a_time(tiny, monkeypatch):
    task = replace(Task.of("shots", words(200)), form=Form("icl", 2))
    alive, most = WeakSet(), []

    class Counted(Sweep):
        def __init__(self, *given):
            super().__init__(*given)
            gc.collect()
            alive.add(self)
            most.append(len(alive))

    monkeypatch.setattr(questions_module, "Sweep", Counted)
    asked = RemovalQuestions(tiny, task, 12, "zero", "logprob")
    kept = [(0, 1), (2, 3)]
    values = asked.values([kept])[0]
    assert len(most) > 1
    assert max(most) == 1
    gate = torch.zeros(3, 4)
    for head in kept:
        gate[head] = 1.0
    rows = [
        tiny.encode(own.prompt, own.target) for batch in asked._measured for own in batch.examples
    ]
    expected = tiny.score(rows, Edit(gate=gate)).mean().numpy()
    assert values == pytest.approx(expected, abs=1e-5)


def test_questions_that_cannot_be_used_are_counted(tiny):
    long = [Example(f"{i} " + "ab " * 300, " x") for i in range(40)]
    mixed = Task.of("mixed", [*words(), *long])
    asked = RemovalQuestions(tiny, mixed, 20, "zero", "logprob")
    assert 0 < len(asked.names) < 20
    assert asked.left_out == 20 - len(asked.names)
    with pytest.raises(TaskError, match="fits the context"):
        RemovalQuestions(tiny, Task.of("long", long), 20, "zero", "logprob")
    with pytest.raises(TaskError, match="no other choices"):
        RemovalQuestions(tiny, Task.of("words", words()), 20, "zero", "difference")


def test_only_questions_that_cannot_be_used_are_passed_over(tiny, monkeypatch):
    def fails(*given, **settings):
        raise TaskError("something else.")

    monkeypatch.setattr(questions_module.Measured, "of", fails)
    with pytest.raises(TaskError, match="something else"):
        RemovalQuestions(tiny, Task.of("words", words()), 20, "zero", "logprob")
