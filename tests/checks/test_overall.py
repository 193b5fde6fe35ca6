"""Over all tasks: methods like chance are seldom called better, good ones nearly always."""

from __future__ import annotations

from statistics import fmean

import numpy as np
import pytest

from headatlas.checks.yardstick.overall import _overall, _pairs
from headatlas.stats.orders import between_orders

METHODS = [f"method {number}" for number in range(8)]
RUNS = 100
QUESTIONS_SE = 0.03


class Drawn:
    """A task on which every map's order is drawn at random, and lies by `advantage` higher."""

    def __init__(self, rng, advantage, spread):
        self._values = advantage + rng.normal(0, spread) + rng.normal(0, QUESTIONS_SE, len(spread))
        self.needed = 1.0
        self._controls = rng.normal(0, 1, (len(spread), 4)) * spread[:, None]

    def value(self, score, number):
        return float(self._values[number])

    def value_variance(self, score, number, excess=0.0):
        return QUESTIONS_SE**2, 23.0

    def ahead(self, score, one, other, *, overall=None):
        return float(self._values[one] - self._values[other]), (2 * QUESTIONS_SE**2, 23.0)

    def above_chance(self, score, number):
        own = self._controls[number]
        between = between_orders(self._controls.tolist(), own.tolist())
        return float(self._values[number] - own.mean()), [(QUESTIONS_SE**2, 23.0), between]

    def level(self, *numbers):
        return 0.95


def beaten(advantage, spread, tasks, run):
    """Which methods beat chance: method."""
    rng = np.random.default_rng(run)
    places = {name: number for number, name in enumerate(METHODS)}
    having = [(Drawn(rng, np.array(advantage), np.array(spread)), places) for _ in range(tasks)]
    return [one.beats_chance is True for one in _overall("circuit", METHODS, having)]


@pytest.mark.parametrize("tasks", [1, 6])
@pytest.mark.parametrize("spread", [[0.1] * 8, [0.03] * 4 + [0.15] * 4, [0.03] * 7 + [0.3]])
def test_methods_no_better_than_chance_are_seldom_called_better(tasks, spread):
    """One-sided, 2.5 % of all runs may err; of 100, more than 8 do so once in a thousand times."""
    assert sum(any(beaten([0.0] * 8, spread, tasks, run)) for run in range(RUNS)) <= 8


def test_six_tasks_show_what_one_does_not():
    """A lead of two standard deviations of a shuffled order."""
    good = [0.2] * 6 + [0.0] * 2
    shares = {
        tasks: fmean(fmean(beaten(good, [0.1] * 8, tasks, run)[:6]) for run in range(RUNS))
        for tasks in (1, 6)
    }
    assert shares[6] > 0.8
    assert shares[1] < 0.3


def test_a_task_that_hardly_needs_heads_hardly_counts():
    """Its scores are shares of next to nothing; a gain is in nats, and counts like any other."""
    rng = np.random.default_rng(0)
    places = {name: number for number, name in enumerate(METHODS)}
    tasks = [Drawn(rng, np.full(8, value), np.full(8, 1e-6)) for value in (0.5, 50.0)]
    tasks[1].needed = 0.01
    having = [(task, places) for task in tasks]
    values = [task.value("", 0) for task in tasks]
    circuit, gain = (_overall(score, METHODS, having)[0].value for score in ("circuit", "gain"))
    assert circuit.mean == pytest.approx((values[0] + 0.01 * values[1]) / 1.01)
    assert gain.mean == pytest.approx(fmean(values))
    assert circuit.high - circuit.low == pytest.approx(2 * 2.07 * QUESTIONS_SE / 1.01, rel=0.01)


def test_pairs_are_told_apart_by_questions():
    rng = np.random.default_rng(0)
    advantage = np.array([1.0] + [0.0] * 7)
    places = {name: number for number, name in enumerate(METHODS)}
    having = [(Drawn(rng, advantage, np.full(8, 1e-6)), places) for _ in range(6)]
    shown = [pair for pair in _pairs("circuit", METHODS, having) if pair.better is not None]
    assert [pair.one for pair in shown] == ["method 0"] * 7
    assert {pair.worse for pair in shown} == set(METHODS[1:])
