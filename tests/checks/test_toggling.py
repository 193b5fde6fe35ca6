"""Toggling: that it measures what it says, and that its verdicts can say no."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from checks.planted_roles import (
    LAYERS,
    SABOTEURS,
    SILENT,
    STRONG,
    map_of,
    planted_model,
    planted_task,
    random_map,
)
from headatlas.checks.gating import toggling
from headatlas.checks.gating.held_out import held_out
from headatlas.checks.gating.toggle_order import ToggleOrder, curve_points
from headatlas.checks.gating.toggling import toggle, toggling_passes
from headatlas.checks.gating.verdict import verdict
from headatlas.checks.measure import Questions, answer
from headatlas.checks.results.about import About
from headatlas.checks.results.gating import (
    HARMLESS,
    NOT_RELIABLE,
    Curve,
    GatingCheck,
    harmless_bound,
)
from headatlas.checks.sizes import sizes_on_task
from headatlas.maps.roles import SCORES
from headatlas.models.edit import Edit
from headatlas.stats.intervals import Change
from headatlas.tasks import Example, Task
from small_things import gating_map

SHAPE = (3, 4)


@pytest.fixture(scope="module")
def task():
    return Task.of("t", [Example(f"ab {i} " * (i % 3 + 1), "cd") for i in range(40)])


def off_minus_on(model, questions, heads, start):
    """Log P of every question with the heads at 0 minus that with them at 1."""
    found = []
    for value in (0.0, 1.0):
        gate = start.clone()
        for head in heads:
            gate[head] = value
        with torch.no_grad():
            scores = [model.score(batch, Edit(gate=gate)).mean() for batch in questions.batches]
        found.append(torch.cat(scores).double().numpy())
    return found[0] - found[1]


def scores_of(head_map, seed=0):
    """The scores of a seed, as a toggling order takes them."""
    return {name: head_map[name].sel(seed=seed) for name in SCORES}


def test_output_sizes_are_what_heads_add_where_targets_are_predicted(tiny, task):
    sizes = sizes_on_task(tiny, task)
    assert list(sizes) == list(tiny.spec.heads())
    columns = tiny.hf.model.layers[1].self_attn.o_proj.weight[:, 2 * 16 : 3 * 16].detach()
    norms = []
    for example in task.prompts("train", 0, 16):
        row = tiny.encode(example.prompt, example.target)
        z = tiny.read([row.ids])[0, 1, 2, row.target_start - 1 : -1]
        norms.append((z @ columns.T).norm(dim=-1))
    assert sizes[1, 2] == pytest.approx(float(torch.cat(norms).mean()), rel=1e-4)


def test_toggling_switches_the_first_heads_of_each_order_and_of_every_draw(tiny, task):
    minus = np.zeros((1, *SHAPE))
    minus[0, 1, 2], minus[0, 0, 3] = 0.9, 0.8
    head_map = gating_map(np.full((1, *SHAPE), 0.7), minus)
    found = toggle(tiny, task, head_map, limit=8)
    curve = found.curves[0]
    assert (curve.score, curve.count, curve.left_out, curve.toggled) == ("facilitation", 2, 0, 2)
    assert curve.heads == (1, 2)
    questions, start = Questions.of(tiny, task, "test", 0, 8, 2), torch.full(SHAPE, 0.7)
    moved = off_minus_on(tiny, questions, [(1, 2), (0, 3)], start)
    assert curve.own.mean == pytest.approx(moved.mean(), rel=1e-4)
    assert curve.change[0][1] == pytest.approx(moved.mean(), rel=1e-4)
    first = off_minus_on(tiny, questions.first(2), [(1, 2)], start)
    assert curve.change[0][0] == pytest.approx(first.mean(), rel=1e-4)
    sizes = sizes_on_task(tiny, task)
    order = ToggleOrder.of(scores_of(head_map), "facilitation", sizes, 16, "facilitation, seed 0")
    draws = [off_minus_on(tiny, questions, heads, start).mean() for heads in order.draws]
    assert [draw[1] for draw in curve.controls] == pytest.approx(draws, rel=1e-3)
    assert curve.control.mean == pytest.approx(np.mean(draws), rel=1e-3)
    assert curve.difference.mean == pytest.approx(moved.mean() - np.mean(draws), rel=1e-3)
    random_size = np.mean([sizes[head] for heads in order.draws for head in heads])
    ratio = random_size / np.mean([sizes[1, 2], sizes[0, 3]])
    assert curve.size_ratio == pytest.approx(ratio)
    checked = GatingCheck(About("map", "hash", "model", "task", 8), (), found)
    assert any(f"writing {ratio:.0%} as much" in line for line in checked.summary())
    plain = -off_minus_on(tiny, questions, [], start)
    assert not plain.any()
    with torch.no_grad():
        losses = [-tiny.score(batch).mean() for batch in questions.batches]
    assert found.untouched == pytest.approx(float(torch.cat(losses).mean()), rel=1e-4)
    assert found.bound == pytest.approx(HARMLESS * found.untouched)
    assert (found.questions, found.prefixes, found.draws) == (8, 4, 16)


def test_orders_leave_out_heads_without_a_partner_lowest_scores_first(tiny, task):
    minus = np.zeros((1, *SHAPE))
    minus[0, 1] = 0.6, 0.9, 0.8, 0.1
    scores = scores_of(gating_map(np.ones((1, *SHAPE)), minus))
    order = ToggleOrder.of(scores, "facilitation", sizes_on_task(tiny, task), 3, "x")
    assert (order.heads, order.left_out) == (((1, 1),), 2)
    assert order.draws == (((1, 3),),) * 3


def test_heads_of_the_opposite_role_are_no_controls(tiny, task):
    plus, minus = np.ones((1, *SHAPE)), np.zeros((1, *SHAPE))
    minus[0, 1, 0] = 0.9
    plus[0, 1, 1:3] = 0.1
    scores, sizes = scores_of(gating_map(plus, minus)), sizes_on_task(tiny, task)
    order = ToggleOrder.of(scores, "facilitation", sizes, 3, "x")
    assert order.draws == (((1, 3),),) * 3
    order = ToggleOrder.of(scores, "interference", sizes, 3, "x")
    assert (order.count, len(order.heads), order.left_out) == (2, 1, 1)
    assert order.draws == (((1, 3),),) * 3


def test_all_irrelevant_heads_are_toggled_also_without_a_partner(tiny, task):
    minus = np.zeros((1, *SHAPE))
    minus[0, 1, 3] = 0.9  # three irrelevant heads of layer 1 share one that is not
    order = ToggleOrder.of(
        scores_of(gating_map(np.ones((1, *SHAPE)), minus)),
        "irrelevance",
        sizes_on_task(tiny, task),
        3,
        "x",
    )
    assert (order.count, len(order.heads), order.left_out) == (11, 11, 10)
    assert order.draws == (((1, 3),),) * 3


def test_every_pass_is_reported_and_no_more_than_are_expected(tiny, task):
    rng = np.random.default_rng(0)
    head_map = gating_map(*rng.random((2, 2, *SHAPE)))
    passes = []
    toggle(tiny, task, head_map, limit=4, report=lambda steps, words: passes.append(words))
    assert 0 < len(passes) <= toggling_passes(head_map)


def test_no_heads_of_a_role_is_no_verdict(tiny, task):
    found = toggle(tiny, task, gating_map(np.ones((1, *SHAPE)), np.zeros((1, *SHAPE))), limit=4)
    assert [curve.count for curve in found.curves] == [0, 0, 12]
    assert found.curves[2].left_out == 12  # all heads are irrelevant: none is left to compare with
    assert set(found.holds.values()) == {None}


def curve_of(score, own=(0, 0, 0), control=(0, 0, 0), difference=(0, 0, 0), draws=(9.0,) * 16):
    changes = (Change(*own), Change(*control), Change(*difference))
    controls = tuple((draw,) for draw in draws)
    return Curve(score, 1, (2.0,), ((own[0],),), controls, 0, *changes, 2.0, 0.0)


UNKNOWN = (math.nan,) * 3


@pytest.mark.parametrize(
    ("own", "difference", "expected"),
    [
        ((-9, -10, -8), (-2, -3, -1), True),
        ((-9, -10, -8), (-2, -5, 1), None),
        ((-9, -10, -8), (2, 1, 3), False),
        ((-9, -10, -8), UNKNOWN, None),
        ((-1, -3, 1), (-2, -3, -1), None),  # it may not fall at all
        ((1, 0.5, 2), (-2, -3, -1), False),  # it rises, only less than with random heads
    ],
)
def test_facilitation_must_fall_and_more_than_with_random_heads(own, difference, expected):
    assert verdict(curve_of("facilitation", own, difference=difference), 1) is expected


@pytest.mark.parametrize(
    ("own", "difference", "expected"),
    [
        ((1, 0.5, 2), (2, 1, 3), True),
        ((1, -0.5, 2), (2, 1, 3), None),  # it may not rise at all
        ((1, 0.5, 2), (2, -1, 3), None),  # random heads may do as much
        ((-1, -2, -0.5), (2, 1, 3), False),  # it falls, only less than with random heads
        ((1, 0.5, 2), (-2, -3, -1), False),
    ],
)
def test_interference_must_rise_and_more_than_with_random_heads(own, difference, expected):
    assert verdict(curve_of("interference", own, difference=difference), 1) is expected


@pytest.mark.parametrize(
    ("own", "control", "draws", "expected"),
    [
        ((0, -0.2, 0.2), (-3, -4, -2), (-3.0,) * 16, True),
        ((0, -0.2, 0.3), (-3, -4, -2), (-3.0,) * 16, None),
        ((-1, -1.5, -0.3), (-3, -4, -2), (-3.0,) * 16, False),
        ((1, 0.3, 1.5), (-3, -4, -2), (-3.0,) * 16, False),  # a rise is no irrelevance
        ((0, -0.2, 0.2), (0, -0.1, 0.1), (3.0,) * 16, None),  # random heads are as harmless
        ((0, -0.2, 0.2), (-3, -4, -2), (*(-3.0,) * 15, 0.1), None),  # one draw in 16 is
        ((0, -0.2, 0.2), (-3, -4, -2), (*(-3.0,) * 19, 0.1), True),  # one draw in 20
        ((1, 0.3, 1.5), (0, -0.1, 0.1), (0.0,) * 16, False),  # harm is harm
    ],
)
def test_irrelevance_is_an_equivalence_that_random_heads_do_not_pass(own, control, draws, expected):
    assert verdict(curve_of("irrelevance", own, control, draws=draws), 0.25) is expected


@pytest.mark.parametrize(("beyond", "expected"), [(0, True), (1, True), (2, None)])
def test_irrelevance_must_hold_in_nearly_every_seed(beyond, expected):
    """Seeds that go up and seeds that go down do not make each other harmless."""
    curve = curve_of("irrelevance", (0, -0.2, 0.2), (-3, -4, -2), draws=(-3.0,) * 16)
    change = tuple((2.0 * (-1) ** seed if seed < beyond else 0.1,) for seed in range(10))
    assert verdict(replace(curve, seeds=10, change=change), 0.25) is expected


def test_nothing_is_harmless_where_the_model_knows_nothing():
    assert harmless_bound(2.0, -0.4) == 0
    curve = curve_of("irrelevance", (0, -0.01, 0.01), (-3, -4, -2), draws=(-3.0,) * 16)
    assert verdict(curve, harmless_bound(2.0, -0.4)) is None


def test_harm_is_measured_by_what_the_model_knows_where_that_is_less(tiny, task):
    head_map = gating_map(np.full((1, *SHAPE), 0.7), np.zeros((1, *SHAPE)))
    found = toggle(tiny, task, head_map, limit=4, gain=0.04)
    assert found.bound == pytest.approx(0.01)
    (_, plus, *_) = held_out(tiny, task, head_map, names=("G⁺",), limit=4, gain=0.04)
    assert plus.bound == pytest.approx(0.01)


def only_the_verdict(score, heads, most):
    fixed = curve_points(score, heads, most)[1]
    return [fixed], fixed


def answer_at_once(model, questions, gate, replacement=None):
    """The same answers in one pass: the planted task has no prefixes to share."""
    rows = [row for batch in questions.batches for row in batch]
    return answer(model, Questions((tuple(rows),), questions.names), gate, replacement)


@pytest.fixture
def quick(monkeypatch):
    """Only the points of the verdicts are measured, with all questions in one pass."""
    monkeypatch.setattr(toggling, "curve_points", only_the_verdict)
    monkeypatch.setattr(toggling, "answer", answer_at_once)


@pytest.fixture(scope="module")
def planted():
    return planted_model()


@pytest.fixture(scope="module")
def planted_questions(planted):
    return planted_task(planted)


@pytest.fixture(scope="module")
def even_model():
    """A model in which every head matters, so that toggling any of them does harm."""
    return planted_model(loud=1.0, quiet=1.0)


@pytest.mark.parametrize("seeds", [1, 3])
def test_true_roles_hold(planted, planted_questions, quick, seeds):
    some = [head for head in SILENT if head[1] < 5]
    true_map = map_of(STRONG, SABOTEURS, some, seeds)
    found = toggle(planted, planted_questions, true_map, limit=24)
    assert found.holds["facilitation"] is True
    assert found.holds["interference"] is True
    assert found.holds["irrelevance"] is not False
    swapped = map_of(SABOTEURS, STRONG, some, seeds)
    found = toggle(planted, planted_questions, swapped, limit=24)
    assert found.holds["facilitation"] is not True
    assert found.holds["interference"] is (False if seeds == 1 else None)


def test_random_facilitation_beside_true_interference_fails(even_model, quick):
    """All other heads matter alike, so any of them fall more than heads that are in the way."""
    gate = torch.ones(even_model.spec.n_layers, even_model.spec.n_heads)
    gate[:, 1:4] = 0.0
    task = planted_task(even_model, gate)
    harmful, others = ([tuple(head) for head in (gate == on).nonzero().tolist()] for on in (0, 1))
    held, falls = 0, 0
    for number in range(6):
        rng = np.random.default_rng(number)
        chosen = [others[i] for i in rng.choice(len(others), 14, replace=False)]
        rest = [head for head in others if head not in chosen]
        found = toggle(even_model, task, map_of(chosen, harmful, rest, 3, rng), limit=16)
        held += found.holds["facilitation"] is True
        falls += found.curves[0].own.below is True
    assert falls >= 3
    assert held <= 1


def test_silent_heads_are_irrelevant_where_random_ones_are_not(quick):
    model = planted_model(loud=0.0)
    some = [head for head in SILENT if head[1] < 6]
    found = toggle(model, planted_task(model), map_of(STRONG, (), some), limit=16)
    assert found.holds == {"facilitation": True, "interference": None, "irrelevance": True}
    assert found.curves[2].toggled == 4 * LAYERS


def test_interfering_heads_that_are_called_irrelevant_fail(planted, planted_questions, quick):
    wrong = map_of(STRONG, (), SABOTEURS)
    found = toggle(planted, planted_questions, wrong, limit=24)
    assert found.holds["irrelevance"] is False


@pytest.fixture(scope="module")
def even_task(even_model):
    return planted_task(even_model, torch.ones(even_model.spec.n_layers, even_model.spec.n_heads))


@pytest.mark.parametrize("alike", [False, True], ids=["one seed", "three seeds that agree"])
@pytest.mark.long
def test_random_roles_fail(even_model, even_task, quick, alike):
    """Of ten maps, chance may let one pass in each score, though most curves fall surely."""
    held, falls = Counter(), 0
    for number in range(10):
        head_map = random_map(number)
        if alike:
            plus, minus = (head_map[name].to_numpy() for name in ("gate_plus", "gate_minus"))
            head_map = gating_map(np.repeat(plus, 3, 0), np.repeat(minus, 3, 0))
        found = toggle(even_model, even_task, head_map, limit=16)
        held.update(score for score, verdict in found.holds.items() if verdict)
        falls += found.curves[0].own.below is True
    assert falls >= 5, held  # without random heads to compare with, facilitation would hold
    assert all(count <= 1 for count in held.values()), held


def test_a_map_that_has_not_converged_holds_nowhere():
    curves = tuple(
        curve_of(score, (-2, -3, -1), difference=(-2, -3, -1))
        for score in ("facilitation", "interference", "irrelevance")
    )
    holds = {"facilitation": True, "interference": False, "irrelevance": True}
    measured = toggling.Toggling(1, 8, 4, 16, 0.95, 1.0, curves, holds)
    check = GatingCheck(About("map", "hash", "m", "t", 8), (), measured)
    assert check.holds == holds
    assert sum(": holds (" in line for line in check.summary()) == 2
    unreliable = replace(check, warnings=("40 % of gates are undecided",))
    none = {"facilitation": None, "interference": False, "irrelevance": None}
    assert (unreliable.holds, unreliable.toggling.holds) == (none, holds)
    assert GatingCheck.from_dict(unreliable.as_dict()) == unreliable
    words = unreliable.summary()
    assert words[0] == "the map is not reliable: 40 % of gates are undecided"
    assert not any(": holds (" in line for line in words)
    assert sum(line.endswith(f": {NOT_RELIABLE}") for line in words) == 2


def test_a_summary_says_what_its_intervals_are_for():
    curves = tuple(curve_of(score) for score in ("facilitation", "interference", "irrelevance"))
    measured = toggling.Toggling(
        1,
        8,
        4,
        16,
        0.99,
        1.0,
        curves,
        dict.fromkeys(("facilitation", "interference", "irrelevance")),
    )
    check = GatingCheck(About("map", "hash", "m", "t", 8, look=2), (), measured)
    assert check.summary()[0] == (
        "look 2: 99 % intervals over prefixes, questions and draws, for this seed only; 8 "
        "questions after 4 prefixes per seed, 16 draws of random heads"
    )
    assert check.about.level == pytest.approx(0.99)
    many = replace(measured, seeds=3)
    assert many.scope == "99 % intervals over seeds, prefixes, questions and draws"
