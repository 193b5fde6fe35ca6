"""Checks of gating maps: that they measure what they say, and that they can say no."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headatlas.checks.contrast import check_contrast, holds, is_possible
from headatlas.checks.held_out import HARD, best_seed, gate_matrix, held_out
from headatlas.checks.measure import Questions, answer
from headatlas.checks.results.gating import Curve
from headatlas.checks.toggling import toggle, verdicts
from headatlas.errors import MapError
from headatlas.maps import Map
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


def test_held_out_loss_is_that_of_the_gated_model(tiny, task):
    plus = np.random.default_rng(0).random((2, *SHAPE))
    minus = np.random.default_rng(1).random((2, *SHAPE))
    head_map = gating_map(plus, minus)
    rows = {row.gates: row for row in held_out(tiny, task, head_map, limit=8)}
    assert list(rows) == ["untouched", "G", "G" + HARD, "G⁺", "G⁺" + HARD, "G⁻", "G⁻" + HARD]
    questions = Questions.of(tiny, task, "test", 0, 8)
    plain = logprobs(tiny, questions, torch.ones(SHAPE))
    gated = [logprobs(tiny, questions, torch.tensor(p, dtype=torch.float32)) for p in plus]
    assert rows["untouched"].loss == pytest.approx(-plain.mean(), rel=1e-5)
    assert rows["G⁺"].loss == pytest.approx(-np.mean(gated), rel=1e-5)
    assert rows["G⁺"].change == pytest.approx(plain.mean() - np.mean(gated), rel=1e-4)
    assert rows["G⁺"].better == sum(each.mean() > plain.mean() for each in gated)
    hard = logprobs(tiny, questions, torch.tensor(minus[0] >= 0.5).float())
    only = head_map.sel(seed=[0])
    found = next(r for r in held_out(tiny, task, only, limit=8) if r.gates == "G⁻" + HARD)
    assert found.loss == pytest.approx(-hard.mean(), rel=1e-5)
    assert found.heads_on == pytest.approx((minus[0] >= 0.5).mean())


def test_the_best_seed_is_chosen_on_select_questions(tiny, task):
    plus = np.stack([np.zeros(SHAPE), np.ones(SHAPE)])
    questions = Questions.of(tiny, task, "select", 0, 64)
    losses = [-logprobs(tiny, questions, torch.tensor(p, dtype=torch.float32)).mean() for p in plus]
    assert best_seed(tiny, task, gating_map(plus, plus), "G⁺") == int(np.argmin(losses))


def test_gates_by_name():
    head_map = gating_map(np.full((1, *SHAPE), 0.6), np.full((1, *SHAPE), np.nan))
    assert gate_matrix(head_map, "G⁺" + HARD, 0).unique().tolist() == [1.0]
    assert gate_matrix(head_map, "G⁻", 0).unique().tolist() == [1.0]  # no such heads: left alone
    with pytest.raises(MapError, match="no gates 'H': there are G, G⁺, G⁻"):
        gate_matrix(head_map, "H", 0)


def test_toggling_switches_the_first_heads_of_each_order(tiny, task):
    minus = np.zeros((1, *SHAPE))
    minus[0, 1, 2], minus[0, 0, 3] = 0.9, 0.8
    plus = np.full((1, *SHAPE), 0.7)
    found = toggle(tiny, task, gating_map(plus, minus), limit=8, points=4)
    curve = found.curves[0]
    assert curve.score == "facilitation"
    assert curve.count == 2
    questions = Questions.of(tiny, task, "test", 0, 8)
    off, on = torch.full(SHAPE, 0.7), torch.full(SHAPE, 0.7)
    for head in ((1, 2), (0, 3)):
        off[head], on[head] = 0.0, 1.0
    difference = logprobs(tiny, questions, off) - logprobs(tiny, questions, on)
    assert curve.end == pytest.approx(difference.mean(), rel=1e-4)
    assert curve.low < curve.end < curve.high
    assert curve.heads[0] == 1
    assert curve.heads[-1] == 12
    everything = logprobs(tiny, questions, torch.zeros(SHAPE)) - logprobs(
        tiny, questions, torch.ones(SHAPE)
    )
    for each in found.curves:
        assert each.change[0][-1] == pytest.approx(everything.mean(), rel=1e-4)


def curves(fall, rise, flat):
    """Curves that end at given numbers: end, low, high."""
    ends = {"facilitation": fall, "irrelevance": flat, "interference": rise}
    return [Curve(score, (1,), ((end[0],),), *end, 1.0) for score, end in ends.items()]


def test_toggling_can_say_no():
    good = verdicts(curves((-2, -3, -1), (1, 0.5, 1.5), (-0.2, -0.3, 0.1)))
    assert good == {"facilitation": True, "interference": True, "irrelevance": True}
    bad = verdicts(curves((-2, -4, -0.1), (-1, -2, -0.1), (-0.4, -0.5, -0.3)))
    assert bad == {"facilitation": True, "interference": False, "irrelevance": False}
    wrong = verdicts(curves((2, 1, 3), (1, 0.5, 2), (0.1, 0, 0.2)))
    assert wrong == {"facilitation": False, "interference": True, "irrelevance": None}
    vague = verdicts(curves((-2, -4, 0.1), (1, -0.1, 2), (0.0, np.nan, np.nan)))
    assert vague == {"facilitation": None, "interference": None, "irrelevance": None}


def test_a_contrast_can_fail():
    assert holds(0.9, 0.6, 0.9, 0.1) is True
    assert holds(0.9, 0.5, 0.9, 0.1) is False  # too little is kept
    assert holds(0.9, 0.6, 0.9, 0.2) is False  # too little is forgotten
    assert is_possible(0.9, 0.9)
    assert not is_possible(0.9, 0.05)
    assert holds(0.9, 0.6, 0.05, 0.0) is None


def answered_by(model, name, gate, count=40):
    """A task whose targets are the first token that the model gives under a gate matrix."""
    examples = []
    for number in range(10 * count):
        prompt = f"{name} {number * 7919} the"
        ids = torch.tensor([model.encode(prompt, " x").ids[: len(prompt)]])
        with torch.no_grad(), model.editing(Edit(gate=gate)):
            letter = model.tokenizer.decode([int(model.hf(ids).logits[0, -1].argmax())])
        if len(letter) == 1 and letter.isascii() and letter.isprintable():
            examples.append(Example(prompt, letter))
        if len(examples) == count:
            return Task.of(name, examples)
    raise AssertionError("the model answers in no readable letters")


def test_a_contrast_is_measured_before_and_after(tiny):
    """The task to keep is what the gates of both seeds do, the other what the plain model does."""
    generator = torch.Generator().manual_seed(0)
    gates = torch.rand((2, *SHAPE), generator=generator).round()
    plain = answered_by(tiny, "plain", torch.ones(SHAPE))
    first = answered_by(tiny, "first", gates[0])
    dims = ("seed", "layer", "head")
    head_map = Map.of({"gate": (dims, gates.numpy())}, {}, {"seed": [0, 1]})

    def accuracy(task, gate):
        questions = Questions.of(tiny, task, "test", 0, 8)
        return float(answer(tiny, questions, gate).exact.mean())

    found = check_contrast(tiny, first, plain, head_map, ["x"], limit=8)
    assert found.forget_before == 1
    assert found.forget_after == np.mean([accuracy(plain, gate) for gate in gates]) < 1
    assert found.retain_before == accuracy(first, None) < 1
    assert found.retain_after == np.mean([accuracy(first, gate) for gate in gates])
    assert found.retain_after >= 0.5  # the first seed gives every answer
    assert (found.seeds, found.questions, found.learned_from) == (2, 8, ("x",))
