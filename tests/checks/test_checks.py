"""Checks of gating maps: that they measure what they say, and that they can say no."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headatlas.checks.gating import held_out as held_out_module
from headatlas.checks.gating.gates import HARD, gate_matrix
from headatlas.checks.gating.held_out import (
    SELECT_QUESTIONS,
    THRESHOLDS,
    best_seed,
    choose_cut,
    held_out,
    held_out_passes,
)
from headatlas.checks.measure import Questions, answer
from headatlas.checks.results.gating import HeldOut
from headatlas.errors import MapError
from headatlas.models.edit import Edit
from headatlas.tasks import Example, Task
from small_things import gating_map

SHAPE = (3, 4)


@pytest.fixture(scope="module")
def task():
    return Task.of("t", [Example(f"ab {i} " * (i % 3 + 1), "cd") for i in range(40)])


def logprobs(model, questions, gate):
    with torch.no_grad():
        return np.concatenate(
            [model.score(batch, Edit(gate=gate)).mean().numpy() for batch in questions.batches]
        )


def test_questions_come_from_the_split_and_are_as_many_as_asked_for(tiny, task):
    questions = Questions.of(tiny, task, "test", 0, 5, size=4)
    assert [len(batch) for batch in questions.batches] == [4, 1]
    assert set(questions.names) <= {each.question for each in task.split("test")}
    assert len(answer(tiny, questions, None).logprob) == 5


def test_questions_know_their_prefixes(tiny, task):
    questions = Questions.of(tiny, task, "test", 0, 5, size=2)
    assert questions.prefixes == (0, 0, 1, 1, 2)
    first = questions.first(2)
    assert first.names == questions.names[:4]
    assert first.batches == questions.batches[:2]


def as_gate(values):
    return torch.tensor(values, dtype=torch.float32)


def test_held_out_loss_is_that_of_the_gated_model(tiny, task):
    plus = np.random.default_rng(0).random((2, *SHAPE))
    minus = np.random.default_rng(1).random((2, *SHAPE))
    head_map = gating_map(plus, minus)
    rows = {row.gates: row for row in held_out(tiny, task, head_map, limit=8)}
    assert list(rows) == ["untouched", "G", "G⁺", "G⁺" + HARD, "G⁻", "G⁻" + HARD]
    questions = [Questions.of(tiny, task, "test", seed, 8, 2) for seed in range(2)]
    assert rows["G⁺"].prefixes == 4
    plain = [logprobs(tiny, each, torch.ones(SHAPE)) for each in questions]
    gated = [logprobs(tiny, each, as_gate(p)) for each, p in zip(questions, plus, strict=True)]
    assert rows["untouched"].loss == pytest.approx(-np.mean(plain), rel=1e-5)
    assert rows["G⁺"].loss == pytest.approx(-np.mean(gated), rel=1e-5)
    assert rows["G⁺"].untouched == pytest.approx(-np.mean(plain), rel=1e-5)
    assert rows["G⁺"].change == pytest.approx(np.mean(plain) - np.mean(gated), rel=1e-4)
    assert rows["G⁺"].better == sum(g.mean() > p.mean() for g, p in zip(gated, plain, strict=True))
    assert rows["G⁺"].low < rows["G⁺"].change < rows["G⁺"].high
    (_, wider) = held_out(tiny, task, head_map, names=("G⁺",), limit=8, level=0.99)
    assert wider.low < rows["G⁺"].low


def test_hard_gates_are_cut_where_select_questions_are_answered_best(tiny, task):
    minus = np.random.default_rng(1).random((1, *SHAPE))
    head_map = gating_map(minus, minus)
    questions = Questions.of(tiny, task, "select", 0, SELECT_QUESTIONS, SELECT_QUESTIONS // 2)
    losses = {
        threshold: -logprobs(tiny, questions, as_gate(minus[0] >= threshold)).mean()
        for threshold in THRESHOLDS
    }
    assert (THRESHOLDS[0], THRESHOLDS[-1]) == (0.05, 0.95)
    best = min(losses, key=losses.get)
    cut = choose_cut(tiny, task, head_map, "G⁻" + HARD, 0)
    assert cut.loss == pytest.approx(losses[best], rel=1e-4)
    assert losses[cut.threshold] == pytest.approx(losses[best], rel=1e-4)
    (_, row) = held_out(tiny, task, head_map, names=("G⁻" + HARD,), limit=8)
    assert row.thresholds == (cut.threshold,)
    asked = Questions.of(tiny, task, "test", 0, 8, 2)
    hard = logprobs(tiny, asked, as_gate(minus[0] >= cut.threshold))
    assert row.loss == pytest.approx(-hard.mean(), rel=1e-4)
    assert row.heads_on == pytest.approx((minus[0] >= cut.threshold).mean())
    assert row.select_loss == pytest.approx(losses[best], rel=1e-4)


def test_progress_counts_every_gate_and_threshold(tiny, task):
    gates = np.random.default_rng(2).random((2, *SHAPE))
    head_map = gating_map(gates, gates)
    steps = []
    held_out(tiny, task, head_map, limit=4, report=lambda number, words: steps.append(number))
    assert sum(steps) == held_out_passes(head_map)


def test_thresholds_that_cut_alike_are_measured_once(tiny, task, monkeypatch):
    plus = np.where(np.arange(12).reshape(1, *SHAPE) % 3, 0.99, 0.01)
    asked = []

    def counted(*given):
        asked.append(given)
        return answer(*given)

    monkeypatch.setattr(held_out_module, "answer", counted)
    cut = choose_cut(tiny, task, gating_map(plus, plus), "G⁺" + HARD, 0)
    assert cut.threshold == 0.45  # all thresholds are equally good; 0.45 comes before 0.55
    assert len(asked) == 2  # one hard matrix, and the untouched model


def hard_row(change, low, high, untouched=1.0):
    return HeldOut(
        "G⁻ (hard)", untouched + change, 0.5, change, low, high, 0, 2, 8, 0.5, 4, untouched,
        (0.35, 0.55), 1.2, 1.0, 1,
    )  # fmt: skip


def test_hard_gates_work_only_within_a_quarter_of_the_untouched_loss():
    works, fails, unsure = (
        hard_row(*change) for change in ((0.1, 0.0, 0.25), (2, 0.3, 3), (0.1, -0.1, 0.3))
    )
    assert (works.works, fails.works, unsure.works) == (True, False, None)
    assert hard_row(-0.5, -0.6, -0.4).works is True  # better is well
    assert works.hard_sentence() == (
        "G⁻ (hard), cut at 0.35 … 0.55: works (loss 1.100, untouched 1.000; within the bound in 1 "
        "of 2 seeds)"
    )
    assert fails.hard_sentence().endswith(
        "on select questions no threshold reached less than 1.200 (untouched 1.000)"
    )
    assert "inconclusive (" in unsure.hard_sentence()


def test_the_best_seed_is_chosen_on_select_questions(tiny, task):
    plus = np.stack([np.zeros(SHAPE), np.ones(SHAPE)])
    questions = Questions.of(tiny, task, "select", 0, 64)
    losses = [-logprobs(tiny, questions, torch.tensor(p, dtype=torch.float32)).mean() for p in plus]
    assert best_seed(tiny, task, gating_map(plus, plus), "G⁺") == int(np.argmin(losses))


def test_gates_by_name():
    head_map = gating_map(np.full((1, *SHAPE), 0.6), np.full((1, *SHAPE), np.nan))
    assert gate_matrix(head_map, "G⁺" + HARD, 0).unique().tolist() == [1.0]
    assert gate_matrix(head_map, "G⁺" + HARD, 0, 0.65).unique().tolist() == [0.0]
    assert gate_matrix(head_map, "G⁻", 0).unique().tolist() == [1.0]  # no such heads: left alone
    with pytest.raises(MapError, match="no gates 'H': there are G, G⁺, G⁻"):
        gate_matrix(head_map, "H", 0)
