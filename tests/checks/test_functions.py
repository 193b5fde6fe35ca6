"""Causal checks of functions: their numbers on answers that are known."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
import torch

from headatlas.checks.claims import pooled_masking, pooled_order, pooled_specificity
from headatlas.checks.functions import causal_checks, counts_of, function_passes
from headatlas.checks.masking import Masks, mask, masking_row, specificity
from headatlas.checks.measure import Answers
from headatlas.checks.results import About, FunctionCheck
from headatlas.checks.steps import Steps, answer_steps
from headatlas.errors import TaskError
from headatlas.maps import Map
from headatlas.maps.compare import compare_named
from headatlas.maps.functions import Ranked, ranked_heads
from headatlas.methods.features import Reading, read_features
from headatlas.models.edit import Edit
from headatlas.models.tokens import Tokens, group_by_prefix
from headatlas.tasks import Example, Task, load_task

NAMES = ("Retrieval", "Inference")


def some_steps(count=20):
    """Two steps per question: one of each function."""
    rows = tuple(Tokens((1, 2, 3), 2) for _ in range(2 * count))
    questions = tuple(f"q{i // 2}" for i in range(2 * count))
    return Steps(rows, NAMES * count, questions)


def masks_of(steps, own, control, seed=0):
    """Masking that changes steps by `own` (a number per function), random heads by `control`."""
    noise = np.random.default_rng(seed)
    before = Answers(noise.normal(-1, 0.3, len(steps.rows)), np.ones(len(steps.rows)))
    shift = np.array([own[function] for function in steps.functions])

    def moved(by):
        jitter = noise.normal(0, 0.01, len(steps.rows))
        return Answers(before.logprob + by + jitter, before.exact)

    controls = tuple(moved(control + 0.01 * draw) for draw in (-1, 0, 1))
    return Masks(((0, 0),), steps.questions, before, moved(shift), controls)


def test_a_difference_that_is_there_is_found_and_none_is_not():
    steps = some_steps()
    strong = masks_of(steps, {"Retrieval": -0.5, "Inference": 0.0}, control=-0.1)
    row = masking_row("Retrieval", strong, steps.at("Retrieval"), elbow=True)
    assert row.change.mean == pytest.approx(-0.5, abs=0.02)
    assert row.control == pytest.approx(-0.1, abs=0.02)
    assert row.difference.mean == pytest.approx(-0.4, abs=0.02)
    assert row.holds is True
    none = masks_of(steps, {"Retrieval": -0.1, "Inference": 0.0}, control=-0.1)
    assert masking_row("Retrieval", none, steps.at("Retrieval"), elbow=True).holds is None
    less = masks_of(steps, {"Retrieval": 0.2, "Inference": 0.0}, control=-0.1)
    assert masking_row("Retrieval", less, steps.at("Retrieval"), elbow=True).holds is False


def test_random_draws_that_differ_widen_the_interval():
    steps = some_steps()
    masks = masks_of(steps, {"Retrieval": -0.5, "Inference": 0.0}, control=0.0)
    wild = tuple(Answers(masks.before.logprob + by, masks.before.exact) for by in (-1.0, 0.0, 1.0))
    wider = Masks(masks.heads, masks.questions, masks.before, masks.chosen, wild)
    narrow, wide = (each.difference("logprob") for each in (masks, wider))
    assert wide.high - wide.low > 5 * (narrow.high - narrow.low)
    assert masks.difference("logprob", steps.at("Retrieval")).below is True
    assert wider.difference("logprob", steps.at("Retrieval")).below is None


def test_specificity_and_claims_tell_own_from_others():
    steps = some_steps()
    masked = {
        "Retrieval": masks_of(steps, {"Retrieval": -0.6, "Inference": -0.1}, control=-0.05),
        "Inference": masks_of(steps, {"Retrieval": -0.1, "Inference": -0.4}, control=-0.05),
    }
    table = specificity(masked, steps)
    means = [[round(cell.mean, 1) for cell in row] for row in table.change]
    assert means == [[-0.6, -0.1], [-0.1, -0.4]]
    assert pooled_masking(masked, steps).mean == pytest.approx(-0.45, abs=0.02)
    assert pooled_masking(masked, steps).below is True
    assert pooled_specificity(masked, steps).mean == pytest.approx(-0.4, abs=0.02)
    order = pooled_order(masked, steps)
    assert order.mean == pytest.approx(-0.05, abs=0.02)
    low = some_steps()
    low = Steps(low.rows, ("Retrieval",) * len(low.rows), low.questions)
    assert pooled_order({"Retrieval": masks_of(low, {"Retrieval": 0.0}, 0.0)}, low) is None
    alike = {name: masks_of(steps, dict.fromkeys(NAMES, -0.3), control=0.0) for name in NAMES}
    assert pooled_specificity(alike, steps).below is None


def steps_task(questions=40):
    examples = []
    for number in range(questions):
        told = f"question {number} ab"
        for name in NAMES:
            examples.append(
                Example(f"{told} {name[:1]}:", " cd", function=name, group=f"q{number}")
            )
            told += f" {name[:1]}: cd"
    return Task.of("steps", examples)


def test_steps_are_of_test_questions_only_and_score_as_alone(tiny):
    task = steps_task()
    steps = Steps.of(tiny, task, NAMES, limit=5)
    held = {each.question for each in task.splits["test"]}
    assert len(set(steps.questions)) == 5
    assert set(steps.questions) <= held
    edit = Edit.ablate(tiny.spec, [(1, 2)])
    found = answer_steps(tiny, steps, edit)
    with torch.no_grad():
        alone = [float(tiny.score([row], edit).mean()) for row in steps.rows]
    assert np.allclose(found.logprob, alone, atol=1e-5)
    assert not np.allclose(found.logprob, answer_steps(tiny, steps, Edit()).logprob)
    with pytest.raises(TaskError, match="'Sleep' has only 0 of the sampled test questions"):
        Steps.of(tiny, task, (*NAMES, "Sleep"), limit=5)


def test_steps_of_the_real_model_score_as_alone(embedded):
    name = "Math Calculation"
    steps = Steps.of(embedded, load_task(f"cognition:only={name}"), (name,), limit=2)
    whole = load_task("cognition").for_tokenizer(embedded.tokenizer)
    rows = [
        embedded.encode(each.prompt, each.target)
        for each in whole.prompts("test")
        if each.question in steps.questions
    ]
    every = Steps(tuple(rows), ("x",) * len(rows), ("q",) * len(rows))
    assert len(group_by_prefix(rows)) == 2  # every question is one row, with all its steps
    edit = Edit.ablate(embedded.spec, [(3, 1), (17, 4)])
    found = answer_steps(embedded, every, edit)
    with torch.no_grad():
        alone = [float(embedded.score([row], edit).mean()) for row in rows]
    assert np.allclose(found.logprob, alone, atol=1e-4)


def test_a_direction_points_from_the_others_to_the_function(tiny):
    features = read_features(tiny, steps_task(), Reading())
    found = features.direction(tiny.spec, "Retrieval", [(0, 1), (2, 3)])
    z = features.z["train"][:, features.heads.index((2, 3))]
    own = np.array(features.labels["train"]) == "Retrieval"
    assert torch.allclose(found[2, 3], torch.tensor(z[own].mean(0) - z[~own].mean(0)))
    assert found.abs().sum(-1).gt(0).nonzero().tolist() == [[0, 1], [2, 3]]


def test_all_checks_run_as_many_passes_as_they_say_and_controls_are_other_heads(tiny):
    task = steps_task()
    features = read_features(tiny, task, Reading())
    heads = tuple(tiny.spec.heads())
    ranked = {"Retrieval": Ranked(heads, 2), "Inference": Ranked(heads[::-1], 0)}
    steps = Steps.of(tiny, task, NAMES, limit=6)
    direction = partial(features.direction, tiny.spec)
    edits = {}

    def answer(name, some, edit):
        assert name not in edits
        edits[name] = edit
        return answer_steps(tiny, some, edit)

    about = About("map", "hash", "tiny", "steps", 6)
    found = causal_checks(tiny.spec, steps, ranked, direction, answer, about, draws=2)
    assert [row.heads for row in found.masking if row.elbow] == [2, 1]
    assert set(found.marks()) == set(NAMES)
    controls = [edit for name, edit in edits.items() if name.startswith("Retrieval, 2 heads, r")]
    assert len(controls) == 2
    for edit in controls:
        assert (edit.gate[0, :2] == 1).all()  # the chosen heads stay on
        assert int((edit.gate == 0).sum()) == 2
    (row, *_) = found.order
    assert (row.masked, row.measured) == NAMES
    assert found.claims["order"].change.mean == pytest.approx(row.difference.mean)
    assert FunctionCheck.from_dict(json.loads(json.dumps(found.as_dict()))) == found


def test_the_number_of_passes_is_known_beforehand(tiny):
    values = np.random.default_rng(0).random((2, 1, 3, 4))
    dims = ("function", "seed", "layer", "head")
    variables = {"importance": (dims, values), "importance_p": (dims, values)}
    head_map = Map.of(variables, {}, {"function": list(NAMES), "seed": [0]})
    steps = Steps.of(tiny, steps_task(), NAMES, limit=4)
    passes = []

    def answer(name, some, edit):
        passes.append(name)
        return Answers(np.zeros(len(some.rows)), np.zeros(len(some.rows)))

    def direction(name, heads):
        return torch.zeros(3, 4, 16)

    about = About("map", "hash", "tiny", "steps", 4)
    causal_checks(tiny.spec, steps, ranked_heads(head_map), direction, answer, about)
    assert len(passes) == len(set(passes)) == function_passes(head_map)


def test_few_heads_are_never_masked_beyond_a_third():
    many = Ranked(tuple((0, head) for head in range(30)), 25)
    assert counts_of(many) == (10, [1, 2])
    assert counts_of(Ranked(many.heads, 0))[0] == 1


def test_kinds_of_map_that_are_one_agree_and_shuffled_ones_do_not():
    values = np.random.default_rng(0).normal(size=(1, 1, 20, 9))
    other = np.random.default_rng(1).permutation(values.ravel()).reshape(values.shape)
    dims = ("function", "seed", "layer", "head")
    names = {"function": ["Retrieval"], "seed": [0]}
    probing = Map.of({"importance": (dims, values)}, {}, names)
    ablation = Map.of({"effect": (dims, -values)}, {}, names)
    gating = Map.of({"facilitation": (dims, other)}, {}, names)
    comparison = compare_named(("probing", "ablation", "gating"), (probing, ablation, gating))
    rows = {row.pair: row for row in comparison.rows}
    assert rows["probing", "ablation"].spearman == pytest.approx(1)
    assert rows["probing", "ablation"].within == pytest.approx(1)
    assert rows["probing", "gating"].low < 0 < rows["probing", "gating"].high


def test_masking_measures_chosen_heads_and_every_draw(tiny):
    steps = Steps.of(tiny, steps_task(), NAMES, limit=4)
    before = answer_steps(tiny, steps, Edit())
    masks = mask(
        tiny.spec, steps, "x", [(0, 0)], before, lambda _, s, e: answer_steps(tiny, s, e), draws=3
    )
    assert len(masks.controls) == 3
    assert masks.change("logprob").mean != 0
