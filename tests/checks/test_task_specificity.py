"""Removing the heads of one task and measuring all: that it finds what is there, and can say no."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan
from string import ascii_letters

import numpy as np
import pytest
import torch

import headatlas as ha
from headatlas.checks.results import TaskSpecificity
from headatlas.checks.yardstick.task_specificity import _advantage, _Losses, _shares
from headatlas.maps import Map
from headatlas.methods.replacement import replacement_vectors
from headatlas.models.edit import Edit
from headatlas.runs.specificity import sets_of_tasks
from headatlas.stats.intervals import Change
from headatlas.tasks import Example, Task
from plots import made_up
from plots.made_up import change

SHARE = 0.34  # of 12 heads: 4


@pytest.fixture(scope="module")
def tasks(tiny):
    """Prompts with the answer that the model itself gives, so that it needs its heads for it."""
    made = []
    for name, word in (("one", "ab"), ("two", "zyx")):
        prompts = [f"{word} {i} " * (i % 3 + 1) for i in range(80)]
        made.append(Task.of(name, [Example(prompt, likely(tiny, prompt)) for prompt in prompts]))
    return made


def likely(model, prompt):
    """The letter that the model finds most likely next."""
    logits = model.hf(torch.tensor([model.tokenizer(prompt)["input_ids"]])).logits[0, -1]
    return max(ascii_letters, key=lambda letter: logits[model.tokenizer(letter)["input_ids"][-1]])


@pytest.fixture(scope="module")
def atlas(tiny, tasks, tmp_path_factory):
    atlas = ha.Atlas(tmp_path_factory.mktemp("specificity"), tiny, progress=None)
    for task in tasks:
        atlas.map(ha.Ablation(examples=12, replacement="mean"), task, baseline=False)
    return atlas


def brute_force(model, task, removed, questions):
    """log P per question with the heads removed by an edit, one question after the other."""
    questions = [one for batch in task.batches("test", 16, 0, epochs=1) for one in batch][
        :questions
    ]
    gate = torch.ones(model.spec.n_layers, model.spec.n_heads)
    for head in removed:
        gate[head] = 0.0
    edit = Edit(gate=gate, replacement=replacement_vectors(model, task, "mean", 0))
    rows = [model.encode(one.prompt, one.target) for one in questions]
    with torch.no_grad():
        return np.array([model.score([row], edit).mean().item() for row in rows])


def test_losses_are_shares_of_what_all_heads_do(atlas, tiny, tasks):
    result = atlas.specificity("one.", "two.", tasks=tasks, questions=24, share=SHARE)
    assert result.tasks == ("one", "two")
    assert result.heads == 4
    first = [(row.layer, row.head) for row in atlas.load("one.").top(4).itertuples()]
    every = tiny.spec.heads()
    whole, without, empty = (
        brute_force(tiny, tasks[1], removed, 24).mean() for removed in ((), first, every)
    )
    expected = (whole - without) / (whole - empty)
    assert result.loss[0][1].mean == pytest.approx(expected, abs=1e-5)
    table = np.array([[change.mean for change in row] for row in result.loss])
    off = (table.sum() - np.trace(table)) / 2
    assert result.advantage.mean == pytest.approx(np.trace(table) / 2 - off)
    assert result.advantage.low < result.advantage.mean < result.advantage.high


def test_it_is_kept_and_read_again(atlas, tasks, monkeypatch):
    first = atlas.specificity("one.", "two.", tasks=tasks, questions=24, share=SHARE)
    stored = atlas.store.read_json(f"checks/{first.file_name}.json")
    assert TaskSpecificity.from_dict(stored) == first
    from headatlas.checks.yardstick import task_specificity

    def measured(*given):
        pytest.fail("it was measured before")

    monkeypatch.setattr(task_specificity, "_measured", measured)
    assert atlas.specificity("one.", "two.", tasks=tasks, questions=24, share=SHARE) == first


def test_the_heads_of_the_other_task_are_worse(atlas, tasks):
    """Two maps whose tasks are exchanged have the opposite advantage."""
    one, two = atlas.load("one."), atlas.load("two.")
    exchanged = [
        Map.of(
            {"effect": (("seed", "layer", "head"), other["effect"].to_numpy())},
            dict(own.provenance),
            {"seed": [0]},
        )
        for own, other in ((one, two), (two, one))
    ]
    right = atlas.specificity(one, two, tasks=tasks, questions=24, share=SHARE)
    wrong = atlas.specificity(*exchanged, tasks=tasks, questions=24, share=SHARE)
    assert wrong.advantage.mean == pytest.approx(-right.advantage.mean, abs=1e-5)
    assert right.loss[0][0].mean == pytest.approx(wrong.loss[1][0].mean, abs=1e-6)


def test_a_sentence_says_what_was_found(atlas, tasks):
    result = atlas.specificity("one.", "two.", tasks=tasks, questions=24, share=SHARE)
    (sentence,) = result.summary()
    assert "specificity over 2 tasks (one, two), 24 test questions each" in sentence
    assert "4 heads each (0.34 of all)" in sentence
    assert "too few tasks to test (smallest possible p 0.5)" in sentence


def four_tasks(advantage, p, p_low):
    made = made_up.task_specificity()
    return replace(
        made, tasks=("a", "b", "math", "syntax"), loss=((change(0.8),) * 4,) * 4,
        advantage=advantage, p=p, p_low=p_low,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("advantage", "p", "p_low", "words"),
    [
        (change(0.6), 0.04, 1.0, "tasks lose more with their own heads"),
        (change(0.6), 0.06, 1.0, "tasks are not shown to lose more with their own heads"),
        (change(0.6, 0.7), 0.04, 1.0, "tasks are not shown to lose more with their own heads"),
        (change(-0.6), 1.0, 0.04, "tasks lose MORE with other tasks' heads"),
        (change(-0.6), 1.0, 0.06, "tasks are not shown to lose more with their own heads"),
    ],
)
def test_a_verdict_needs_questions_and_assignments(advantage, p, p_low, words):
    (sentence,) = four_tasks(advantage, p, p_low).summary()
    assert f": {words};" in sentence


def test_other_shares_have_files_of_their_own():
    made = made_up.task_specificity()
    assert made.file_name.endswith(".specificity")
    assert replace(made, share=0.1).file_name == f"{made.file_name}-share-0.1"


def test_a_task_that_is_not_shown_to_need_heads_has_no_loss():
    rng = np.random.default_rng(0)
    whole, empty = rng.normal(-1, 1, (2, 24))
    values = np.array([whole, empty, whole, empty])
    assert np.isnan(_Losses(values, range(24)).mean).all()
    values[1] = empty - 3
    assert _Losses(values, range(24)).mean[0] == 0


def test_a_task_without_a_loss_leaves_the_others():
    """Of three tasks, the model is not shown to need its heads for the last."""
    rng = np.random.default_rng(0)
    losses = []
    for own in range(3):
        empty = np.full(24, -3.0) if own < 2 else -1 + rng.normal(0, 1, 24)
        removed = [np.full(24, -2.0 if other == own else -1.2) for other in range(3)]
        whole = -1 + rng.normal(0, 0.01, 24)
        losses.append(_Losses(np.array([whole, empty, *removed]), range(24)))
    assert [one.needs_heads for one in losses] == [True, True, False]
    found = _advantage(losses)
    assert found.mean == pytest.approx(0.4, abs=0.02)
    assert found.low > 0
    p, p_low = _shares(np.array([one.mean for one in losses]).T)
    assert p == pytest.approx(1 / 6)  # assignments with the first two in place: one of six
    assert p_low == 1.0
    assert np.isnan(_shares(np.full((3, 3), np.nan))).all()
    assert isnan(_advantage([losses[2]] * 3).mean)


def test_the_sentence_names_tasks_without_a_loss():
    unknown = Change(nan, nan, nan)
    made = four_tasks(change(0.6), 0.04, 1.0)
    loss = ((change(0.8), unknown, change(0.8), change(0.8)),) * 4
    made = replace(made, loss=loss)
    assert made.own == pytest.approx(0.8)
    assert made.least_p == pytest.approx(1 / 24)
    (sentence,) = made.summary()
    assert "on 3 of them, since the model is not shown to need its heads for b)" in sentence
    made.plot()


def test_sets_have_one_map_per_task_and_two_tasks(atlas):
    (found,) = atlas.sets_of_tasks()
    assert [str(head_map.provenance["task"]) for head_map in found] == ["one", "two"]
    assert sets_of_tasks(found[:1]) == []


def test_mistakes_get_one_sentence(atlas, tasks):
    with pytest.raises(ha.HeadAtlasError, match="needs maps of two or more tasks"):
        atlas.specificity("one.", tasks=tasks)
    with pytest.raises(ha.HeadAtlasError, match="needs maps of two or more tasks"):
        atlas.specificity("one.", "one.", tasks=tasks)
    with pytest.raises(ha.HeadAtlasError, match="between 0 and 1, not 1"):
        atlas.specificity("one.", "two.", tasks=tasks, share=1.0)
    with pytest.raises(ha.HeadAtlasError, match="median"):
        atlas.specificity("one.", "two.", tasks=tasks, replacement="median")
