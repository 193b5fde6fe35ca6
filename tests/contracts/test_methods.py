"""What every registered method keeps to."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from architectures.small_models import build
from headatlas.maps import combine
from headatlas.methods import METHODS, Gating, Probing
from headatlas.methods.contrast import Contrast
from headatlas.models.model import Model
from headatlas.tasks import Example, Task
from headatlas.tasks.pairs import TaskPairs

SHORT = {
    "gating": Gating(steps=4, batch_size=8),
    "contrast": Contrast(steps=4),
    "probing": Probing(epochs=5, permutations=50),
}
"""The defaults of these take longer than a contract needs."""


def task(name, target):
    return Task.of(
        name,
        [
            Example(
                f"{i} " + f"{name} " * (i % 3 + 1),
                target,
                function="fg"[i % 2],
                corrupted=f"{i} " + "no " * (i % 3 + 1),
            )
            for i in range(80)
        ],
    )


SUBJECTS = {
    Task: task("ab", "cd"),
    TaskPairs: TaskPairs((task("ab", "cd"),), (task("xy", "zw"),)),
}


@pytest.fixture(params=METHODS)
def method(request):
    return SHORT.get(request.param) or METHODS[request.param]()


@pytest.fixture
def subject(method):
    return SUBJECTS[method.subject]


def test_methods_are_registered_by_their_names():
    assert all(method.name == name for name, method in METHODS.items())
    assert {"ablation", "patching", "attribution", "attention", "writes"} <= set(METHODS)
    assert {"gating", "probing", "contrast"} <= set(METHODS)


def test_settings_are_frozen_plain_data(method):
    assert dataclasses.fields(method)
    assert type(method).__dataclass_params__.frozen
    assert json.loads(json.dumps(method.settings())) == method.settings()
    defaults = type(method)()  # every setting has a default
    assert set(defaults.settings()) == set(method.settings())


def test_the_docstring_says_what_the_number_is(method):
    assert f"`{method.variable}" in type(method).__doc__


def test_the_same_seed_gives_the_same_map(method, subject, tiny):
    one, two = (method.run(tiny, subject, seed=3) for _ in range(2))
    assert one.data.identical(two.data)
    assert one.provenance == two.provenance


def test_the_map_is_of_one_seed_and_names_its_origin(method, subject, tiny):
    head_map = method.run(tiny, subject)
    values = head_map[method.variable]
    assert (values.sizes["layer"], values.sizes["head"]) == (3, 4)
    assert np.isfinite(values).all()
    assert head_map["seed"].to_numpy().tolist() == [0]
    assert head_map["kv_group"].to_numpy().tolist() == [[0, 0, 1, 1]] * 3
    facts = head_map.provenance
    assert (facts["model"], facts["task"], facts["method"]) == ("tiny", subject.name, method.name)
    assert facts["model_hash"] == tiny.fingerprint
    assert facts["task_hash"] == subject.for_tokenizer(tiny.tokenizer).hash
    assert facts["settings"] == method.settings()
    assert json.loads(json.dumps(facts)) == facts


def test_the_map_can_be_ranked(method, subject, tiny):
    head_map = combine([method.run(tiny, subject, seed) for seed in range(2)])
    top = head_map.top(3)
    assert set(top["rank"]) == {1, 2, 3}
    tested = top["p"].notna()
    assert tested.all() or (tested.any() and method.name == "knockout")  # not all are removed alone
    assert top["p"][tested].between(0, 1).all()
    assert (top["low"] <= top["score"]).all()
    assert (top["score"] <= top["high"]).all()
    assert head_map.ranking.correction.startswith("12 heads")


def test_parts_are_plain_data_and_steps_are_reported(method, subject, tiny):
    for part in method.parts(tiny.spec):
        assert json.loads(json.dumps(part)) == part
        steps = []
        method.run(tiny, subject, part=part, report=steps.append)
        assert len(steps) == method.reports(part)
        assert all(isinstance(words, str) and words for words in steps)


def test_the_check_gives_sentences(method, subject, tiny):
    assert all(isinstance(remark, str) for remark in method.check(tiny, subject, seeds=2))


def test_the_model_is_as_before(method, subject, tiny):
    ids = torch.arange(5, 12)[None]
    before = tiny.hf(ids).logits
    method.run(tiny, subject)
    assert torch.equal(tiny.hf(ids).logits, before)


def word_tokenizer():
    """One token per word of the subjects, within the vocabulary of the small models."""
    words = ["<s>", "<unk>", *map(str, range(80)), "ab", "cd", "xy", "zw", "no"]
    numbers = {word: number for number, word in enumerate(words)}
    backend = Tokenizer(models.WordLevel(numbers, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", unk_token="<unk>")


@pytest.fixture(scope="module", params=["laguna", "lfm2"])
def uneven(request):
    """A model whose layers differ in their number of heads, and one with layers without any."""
    torch.manual_seed(0)
    return Model(build(request.param), word_tokenizer(), request.param)


def test_heads_that_do_not_exist_have_no_number(method, subject, uneven):
    values = method.run(uneven, subject)[method.variable].transpose(..., "layer", "head")
    exists = np.zeros(values.shape[-2:], dtype=bool)
    for head in uneven.spec.heads():
        exists[head] = True
    assert not exists.all()
    assert (np.isfinite(values.to_numpy()) == exists).all()
