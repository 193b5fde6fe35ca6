"""Which gates of a path are kept: those whose claims are met best on select questions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from headatlas.methods import choosing
from headatlas.methods.choosing import choose_gates
from headatlas.methods.contrast import Contrast
from headatlas.methods.fitting import Fitted
from headatlas.stats.retention import claim_margin
from headatlas.tasks import Example, Task
from headatlas.tasks.pairs import TaskPairs

KEPT, LOST = "kept", "lost"


def task(name):
    return Task.of(name, [Example(f"{name} {i} " * (i % 3 + 1), "cd") for i in range(40)])


PAIRS = TaskPairs((task(KEPT),), (task(LOST),))


def path_of(*values, reached=None):
    """A path whose gates are all one value, one update a point after the start."""
    path = np.array([np.full((3, 4), value, np.float32) for value in values])
    losses = np.full(len(values) - 1, np.nan, np.float32)
    losses[: len(values) - 1 if reached is None else reached] = 0
    return Fitted(torch.tensor(path[-1]), losses, np.arange(len(values), dtype=np.int32), path)


class Exact:
    def __init__(self, share, number):
        self.right = torch.arange(number) < round(share * number)

    def exact(self):
        return self.right


@pytest.fixture
def scored(tiny, monkeypatch):
    """Give the share of right answers by side and gate; what was asked is kept."""
    table, asked = {}, []

    def score(rows, edit):
        side = KEPT if len(asked) % 4 < 2 else LOST  # two batches a side
        gate = None if edit.gate is None else round(float(edit.gate[0, 0]), 2)
        asked.append((side, gate, len(rows)))
        return Exact(table[gate][side == LOST], len(rows))

    monkeypatch.setattr(tiny, "score", score)
    monkeypatch.setattr(choosing, "BATCH_SIZE", 3)
    monkeypatch.setattr(choosing, "QUESTIONS", 6)
    table.update({None: (1.0, 1.0), 0.9: (1.0, 1.0), 0.5: (1.0, 0.0), 0.1: (0.0, 0.0)})
    return table, asked


def test_the_best_point_is_kept_and_not_the_last(tiny, scored):
    chosen = choose_gates(tiny, PAIRS, path_of(1.0, 0.9, 0.5, 0.1), seed=0)
    assert (chosen.updates, chosen.margin) == (2, 1.0)
    assert chosen.gate.unique().tolist() == [0.5]


def test_only_select_questions_are_asked(tiny, scored, monkeypatch):
    splits = []
    real = Task.batches

    def batches(self, split, *rest, **more):
        splits.append(split)
        return real(self, split, *rest, **more)

    monkeypatch.setattr(Task, "batches", batches)
    choose_gates(tiny, PAIRS, path_of(1.0, 0.9, 0.5), seed=0)
    assert set(splits) == {"select"}
    assert {number for _, _, number in scored[1]} == {3}


def test_points_after_an_early_end_are_not_tried(tiny, scored):
    path = path_of(1.0, 0.9, 0.5, 0.5, 0.5, reached=2)
    chosen = choose_gates(tiny, PAIRS, path, seed=0)
    assert chosen.updates == 2
    assert [gate for side, gate, _ in scored[1]] == [None] * 4 + [0.9] * 4 + [0.5] * 4


def test_nothing_is_chosen_where_nothing_can_be_measured(tiny, scored):
    scored[0][None] = (0.0, 1.0)
    assert choose_gates(tiny, PAIRS, path_of(1.0, 0.5), seed=0) is None
    bare = replace(PAIRS.retain[0], splits={"train": PAIRS.retain[0].split("train")})
    assert choose_gates(tiny, TaskPairs((bare,), PAIRS.forget), path_of(1.0, 0.5), seed=0) is None


def test_at_most_so_many_points_are_tried_and_the_last_is_one(tiny, scored, monkeypatch):
    monkeypatch.setattr(choosing, "CANDIDATES", 2)
    choose_gates(tiny, PAIRS, path_of(1.0, 0.9, 0.9, 0.9, 0.5), seed=0)
    assert [gate for _, gate, _ in scored[1]] == [None] * 4 + [0.9] * 4 + [0.5] * 4


def test_a_contrast_stores_the_gates_that_were_chosen(tiny, monkeypatch):
    from headatlas.methods import contrast

    pairs = TaskPairs((task("ab"),), (task("xy"),))
    method = Contrast(steps=6, batch_size=4, stop_at=None)
    seen = []

    def second(model, pairs, fitted, seed):
        seen.append(fitted)
        return choosing.Chosen(torch.tensor(fitted.path[2]), int(fitted.points[2]), 0.5)

    monkeypatch.setattr(contrast, "choose_gates", second)
    chosen = method.run(tiny, pairs)
    assert np.allclose(chosen["gate"].sel(seed=0), seen[0].path[2])
    assert chosen.data["updates"].to_numpy().tolist() == [2]
    last = replace(method, keep_best=False).run(tiny, pairs)
    assert len(seen) == 1
    assert np.allclose(last["gate"].sel(seed=0), seen[0].path[6])
    assert last.data["updates"].to_numpy().tolist() == [6]


@pytest.mark.parametrize(
    ("kept", "left", "met"),
    [(0.6, 0.2, True), (0.59, 0.0, False), (1.0, 0.21, False), (1.3, 0.0, True)],
)
def test_the_margin_is_positive_where_both_claims_are_met(kept, left, met):
    assert (claim_margin(kept, left) >= 0) is met
    assert claim_margin(kept, left) <= 1
