"""Causal checks of functions, on a tiny model."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from checks.made_answers import (
    ABOUT,
    NAMES,
)
from headatlas.checks.functions.check import Subject, causal_checks, function_passes
from headatlas.checks.functions.masking import mask, shuffled_heads
from headatlas.checks.functions.steps import PREFIXES, Steps, answer_steps
from headatlas.checks.functions.strengthening import push, scaled_like
from headatlas.checks.measure import Answers
from headatlas.checks.results import FunctionCheck
from headatlas.checks.results.functions import Claim
from headatlas.checks.sizes import sizes_at_answers
from headatlas.errors import HeadAtlasError, TaskError
from headatlas.maps import Map
from headatlas.maps.compare import compare_named
from headatlas.maps.functions import Ranked, ranked_heads
from headatlas.methods.features import Reading, read_features
from headatlas.models.edit import Edit
from headatlas.models.tokens import group_by_prefix
from headatlas.stats.intervals import Change
from headatlas.tasks import Example, Task, load_task
from headatlas.tasks.functions import FUNCTIONS
from plots.made_up import function_check


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


@pytest.mark.long
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
    assert len(group_by_prefix(rows)) == 8  # each question of two scenes is a row with all steps
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


def subject_of(tiny, features, ranked, **further):
    direction = partial(features.direction, tiny.spec)
    return Subject(tiny.spec, ranked, sizes_at_answers(tiny, features), direction, **further)


def test_all_checks_keep_chosen_heads_on_in_controls_and_can_be_stored(tiny):
    task = steps_task()
    features = read_features(tiny, task, Reading())
    heads = tuple(tiny.spec.heads())
    ranked = {"Retrieval": Ranked(heads, 3), "Inference": Ranked(heads[::-1], 0)}
    steps = Steps.of(tiny, task, NAMES, limit=6)
    select = Steps.of(tiny, task, NAMES, limit=6, split="select")
    edits = {}

    def answer(name, some, edit):
        assert name not in edits
        edits[name] = (some, edit)
        return answer_steps(tiny, some, edit)

    subject = subject_of(tiny, features, ranked, shuffled=dict.fromkeys(NAMES, heads[4:]))
    found = causal_checks(subject, steps, select, answer, ABOUT, draws=2, level=0.9)
    first, second = found.masking
    assert (first.heads, first.chosen, first.short_layers) == (1, 3, (0,))
    assert first.shortfall == "masked 1 of 3: layer 0 has too few others"
    assert (second.heads, second.chosen, second.shortfall) == (1, 1, None)
    assert found.marks() == {row.function: row.holds for row in found.masking}
    controls = [pass_ for name, pass_ in edits.items() if name.startswith("Retrieval, 1 heads, ra")]
    assert len(controls) == 2 == len(first.controls)
    for some, edit in controls:
        assert set(some.functions) == {"Retrieval"}
        assert edit.gate[0, :3].tolist() == [1, 1, 1]  # all chosen heads stay on
        assert int((edit.gate == 0).sum()) == 1
    _, edit = edits["Retrieval, 1 heads, shuffled labels"]
    assert (edit.gate == 0).nonzero().tolist() == [list(heads[4])]
    assert first.over_shuffled.mean == pytest.approx(first.change.mean - first.shuffled)
    assert found.specificity.heads == 2  # the median of 3 and 0
    some, edit = edits["Inference, 2 heads, all steps"]
    assert len(some.rows) == len(steps.rows)
    assert sorted((edit.gate == 0).nonzero().tolist()) == sorted(map(list, heads[::-1][:2]))
    assert found.order is None
    assert found.level == 0.9
    assert "intervals: 90 %, nats per token" in found.summary()
    stored = json.dumps(found.as_dict())  # as text, where NaN equals NaN
    assert json.dumps(FunctionCheck.from_dict(json.loads(stored)).as_dict()) == stored


def test_the_strength_is_chosen_on_select_and_pushes_are_equally_large(tiny):
    task = steps_task()
    features = read_features(tiny, task, Reading())
    heads = tuple(tiny.spec.heads())
    ranked = {name: Ranked(heads, 2) for name in NAMES}
    steps = Steps.of(tiny, task, NAMES, limit=6)
    select = Steps.of(tiny, task, NAMES, limit=6, split="select")
    edits = {}

    def answer(name, some, edit):
        edits[name] = (some, edit)
        bonus = 5.0 if "select, strength 0.5" in name else 0.0
        answers = answer_steps(tiny, some, edit)
        return Answers(answers.logprob + bonus, answers.exact)

    found = causal_checks(subject_of(tiny, features, ranked), steps, select, answer, ABOUT, draws=2)
    assert found.strengthening.strength == 0.5
    assert not set(steps.questions) & set(select.questions)
    tried = [some for name, (some, _) in edits.items() if "select" in name]
    assert all(set(some.questions) <= set(select.questions) for some in tried)
    label = "Retrieval, 2 heads, strength 0.5"
    own = edits[label][1].shift
    rest = {name: edit.shift for name, (_, edit) in edits.items() if name.startswith(f"{label}, ")}
    assert set(rest) == {f"{label}, random direction {number}" for number in (1, 2, 3)}
    for shift in rest.values():
        assert torch.allclose(shift.norm(dim=-1), own.norm(dim=-1), atol=1e-5)
        assert not torch.allclose(shift, own)


def test_a_push_is_compared_with_other_functions_directions_where_there_are_several(tiny):
    steps = Steps.of(tiny, steps_task(), NAMES, limit=4).only("Retrieval")
    edits = {}

    def answer(name, some, edit):
        edits[name] = edit
        return answer_steps(tiny, some, edit)

    def direction(name, heads):
        return torch.randn(
            (tiny.spec.n_layers, tiny.spec.n_heads, 16),
            generator=torch.Generator().manual_seed(len(name)),
        )

    before = answer_steps(tiny, steps, Edit())
    functions = ("Retrieval", "Inference", "Math Calculation")
    found = push(steps, "Retrieval", functions, [(0, 1)], 0.5, direction, before, answer)
    assert len(found.others.controls) == 2
    own = edits["Retrieval, 1 heads, strength 0.5"].shift
    for other in functions[1:]:
        shift = edits[f"Retrieval, 1 heads, strength 0.5, direction of {other}"].shift
        assert torch.allclose(shift.norm(dim=-1), own.norm(dim=-1), atol=1e-5)
        expected = scaled_like(direction(other, []), own)
        assert torch.allclose(shift, expected, atol=1e-5)


def test_scaling_keeps_the_direction():
    direction, other = torch.tensor([[[3.0, 4.0], [0.0, 0.0]]]), torch.tensor([[[0.0, 10.0]] * 2])
    assert scaled_like(direction, other).tolist() == [[[6.0, 8.0], [0.0, 0.0]]]


@pytest.mark.parametrize("shuffled", [True, False])
def test_the_number_of_passes_is_known_beforehand(tiny, shuffled):
    values = np.random.default_rng(0).random((2, 1, 3, 4))
    dims = ("function", "seed", "layer", "head")
    variables = {"importance": (dims, values), "importance_p": (dims, values)}
    if shuffled:
        variables["shuffled_importance"] = (dims, values[:, :, ::-1])
    head_map = Map.of(variables, {}, {"function": list(NAMES), "seed": [0]})
    steps = Steps.of(tiny, steps_task(), NAMES, limit=4)
    passes = []

    def answer(name, some, edit):
        passes.append(name)
        return Answers(np.zeros(len(some.rows)), np.zeros(len(some.rows)))

    def direction(name, heads):
        return torch.zeros(3, 4, 16)

    sizes = dict.fromkeys(tiny.spec.heads(), 1.0)
    ranked = ranked_heads(head_map)
    subject = Subject(tiny.spec, ranked, sizes, direction, shuffled_heads(head_map))
    found = causal_checks(subject, steps, steps, answer, ABOUT)
    assert len(passes) == len(set(passes)) == function_passes(head_map)
    assert (found.claims["shuffled"] is None) is not shuffled
    remarked = any("not compared with a probe of shuffled labels" in x for x in found.summary())
    assert remarked is not shuffled
    # nothing changed anywhere, so nothing can be told
    assert {claim.holds for claim in found.claims.values() if claim} == {None}


def test_heads_of_shuffled_labels_are_ranked_by_their_mean_over_seeds():
    values = np.zeros((2, 2, 1, 3))  # seed function layer head
    values[0, 0, 0], values[1, 0, 0] = [1.0, 5.0, 0.0], [3.0, 0.0, 0.0]
    dims = ("seed", "function", "layer", "head")
    head_map = Map.of({"shuffled_importance": (dims, values)}, {}, {"function": list(NAMES)})
    assert shuffled_heads(head_map)["Retrieval"] == [(0, 1), (0, 0), (0, 2)]
    assert shuffled_heads(Map.of({"importance": (dims, values)}, {})) == {}


def test_a_head_without_others_in_its_layer_cannot_be_compared(tiny):
    steps = Steps.of(tiny, steps_task(), NAMES, limit=4)
    before = answer_steps(tiny, steps, Edit())
    sizes = dict.fromkeys(tiny.spec.heads(), 1.0)
    with pytest.raises(HeadAtlasError, match="are among its own, so that there are none"):
        mask(tiny.spec, steps, "x", tiny.spec.heads(), sizes, before, lambda *_: before)


def test_sizes_are_norms_of_what_heads_write(tiny):
    features = read_features(tiny, steps_task(), Reading())
    sizes = sizes_at_answers(tiny, features)
    assert set(sizes) == set(tiny.spec.heads())
    weight = tiny.hf.model.layers[2].self_attn.o_proj.weight[:, 16:32].detach()
    z = torch.from_numpy(features.z["train"][:, features.heads.index((2, 1))])
    assert sizes[2, 1] == pytest.approx(float((z @ weight.T).norm(dim=1).mean()), rel=1e-5)


def test_steps_after_demonstrations_have_several_prefixes_as_clusters(tiny):
    task = steps_task(120).with_form("icl=2")
    steps = Steps.of(tiny, task, NAMES)
    assert len(set(steps.questions)) > 2 * PREFIXES
    assert len(set(steps.clusters)) == PREFIXES
    assert {len({p for q, p in zip(steps.questions, steps.prefixes, strict=True) if q == name})
            for name in steps.questions} == {1}  # fmt: skip
    for numbers in steps.batches():
        assert len({steps.prefixes[number] for number in numbers}) == 1
    own = steps.only("Retrieval")
    assert own.clusters == tuple(steps.prefixes[i] for i in steps.at("Retrieval"))
    plain = Steps.of(tiny, steps_task(120), NAMES)
    assert plain.clusters == plain.questions
    edit = Edit.ablate(tiny.spec, [(1, 2)])
    few = steps.only("Inference")
    with torch.no_grad():
        alone = [float(tiny.score([row], edit).mean()) for row in few.rows]
    assert np.allclose(answer_steps(tiny, few, edit).logprob, alone, atol=1e-5)


def test_equal_prefixes_are_one_cluster(tiny):
    task = steps_task(120)
    demonstrations = {"demonstrations": task.splits["demonstrations"][:1]}
    one = Task("one", 1, "", {**task.splits, **demonstrations}).with_form("icl=1")
    assert len(set(Steps.of(tiny, one, NAMES).clusters)) == 1


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
    sizes = dict.fromkeys(tiny.spec.heads(), 1.0)
    masked = mask(
        tiny.spec, steps, "x", [(0, 0)], sizes, before, lambda _, s, e: answer_steps(tiny, s, e)
    )
    assert len(set(masked.controls.draws)) == 3  # the layer has no more others
    assert len(masked.row().controls) == 16
    assert masked.compared.change().mean != 0


def test_the_summary_says_claims_with_their_numbers():
    down, unsure, up = Change(-0.5, -0.7, -0.3), Change(0.1, -0.2, 0.4), Change(0.45, 0.2, 0.7)
    also = {"low → high": down, "high → low": down}
    claims = {
        "masking": Claim(down, True),
        "shuffled": None,
        "specificity": Claim(unsure, None),
        "order": Claim(up, False, also),
    }
    lines = replace(function_check(), claims=claims).summary()
    assert lines == [
        "intervals: 95 %, nats per token",
        "a function's heads matter more for it than random heads: holds, -0.500 (-0.700 … -0.300); "
        "by itself for 3 of 3 functions",
        "a function's heads matter more for it than other functions' heads do: inconclusive, "
        "+0.100 (-0.200 … +0.400); p = 0.01 over all assignments of heads to functions; own heads "
        "harm most for 3 of 3 functions (chance 1, p = 0.02)",
        "low-order heads matter more for high-order functions than the other way round: does not "
        "hold, +0.450 (+0.200 … +0.700); low → high -0.500 (-0.700 … -0.300); "
        "high → low -0.500 (-0.700 … -0.300)",
        *(f"{name}: masked 5 of 6: layer 2 has too few others" for name in FUNCTIONS[:3]),
        "not compared with a probe of shuffled labels: the map has no such probe's heads",
    ]
