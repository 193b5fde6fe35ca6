"""Removing the heads of one task and measuring all: that it finds what is there, and can say no."""

from __future__ import annotations

from string import ascii_letters

import numpy as np
import pytest
import torch

import headatlas as ha
from headatlas.checks.results import TaskSpecificity
from headatlas.maps import Map
from headatlas.runs.specificity import sets_of_tasks
from headatlas.tasks import Example, Task

SHARE = 0.34  # of 12 heads: 4


@pytest.fixture(scope="module")
def tasks(tiny):
    """Prompts with the answer that the model itself gives, so that it needs its heads for it."""
    made = []
    for name, word in (("one", "ab"), ("two", "zyx")):
        prompts = [f"{word} {i} " * (i % 3 + 1) for i in range(40)]
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
    """log P per question with the heads removed through an edit, without the sweep."""
    from headatlas.checks.yardstick.questions import RemovalQuestions

    asked = RemovalQuestions(model, task, questions, "mean", "logprob")
    kept = [head for head in model.spec.heads() if head not in removed]
    return asked.values([kept])[0]


def test_losses_are_shares_of_what_all_heads_do(atlas, tiny, tasks):
    result = atlas.specificity("one.", "two.", tasks=tasks, questions=8, share=SHARE)
    assert result.tasks == ("one", "two")
    assert result.heads == 4
    first = [(row.layer, row.head) for row in atlas.load("one.").top(4).itertuples()]
    every = tiny.spec.heads()
    whole, without, empty = (
        brute_force(tiny, tasks[1], removed, 8).mean() for removed in ((), first, every)
    )
    expected = (whole - without) / (whole - empty)
    assert result.loss[0][1].mean == pytest.approx(expected, abs=1e-5)
    table = np.array([[change.mean for change in row] for row in result.loss])
    off = (table.sum() - np.trace(table)) / 2
    assert result.advantage.mean == pytest.approx(np.trace(table) / 2 - off)
    assert result.advantage.low < result.advantage.mean < result.advantage.high


def test_it_is_kept_and_read_again(atlas, tasks, monkeypatch):
    first = atlas.specificity("one.", "two.", tasks=tasks, questions=8, share=SHARE)
    stored = atlas.store.read_json(f"checks/{first.file_name}.json")
    assert TaskSpecificity.from_dict(stored) == first
    from headatlas.checks.yardstick import task_specificity

    def measured(*given):
        pytest.fail("it was measured before")

    monkeypatch.setattr(task_specificity, "_measured", measured)
    assert atlas.specificity("one.", "two.", tasks=tasks, questions=8, share=SHARE) == first


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
    right = atlas.specificity(one, two, tasks=tasks, questions=8, share=SHARE)
    wrong = atlas.specificity(*exchanged, tasks=tasks, questions=8, share=SHARE)
    assert wrong.advantage.mean == pytest.approx(-right.advantage.mean, abs=1e-5)
    assert right.loss[0][0].mean == pytest.approx(wrong.loss[1][0].mean, abs=1e-6)


def test_a_sentence_says_what_was_found(atlas, tasks):
    (sentence,) = atlas.specificity("one.", "two.", tasks=tasks, questions=8, share=SHARE).summary()
    assert "ablation (mean), specificity over 2 tasks (one, two), 4 heads each" in sentence
    assert "p = " in sentence


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
