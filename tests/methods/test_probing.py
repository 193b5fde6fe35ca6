"""Features and the probe: what is read, what is left out, and how seeds differ."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from architectures.small_models import build
from headatlas.errors import HeadAtlasError, TaskError
from headatlas.maps import combine
from headatlas.maps.aggregate import next_interval
from headatlas.methods import reading
from headatlas.methods.answer_tokens import positions_read
from headatlas.methods.features import SPLITS_READ, Reading, read_features
from headatlas.methods.own_answers import own_answers
from headatlas.methods.probing import Probing, task_functions
from headatlas.models.model import Model
from headatlas.tasks import Example, Task
from headatlas.tasks.splits import SPLITS
from small_things import byte_tokenizer
from suite_files import KINDS, steps

SMALL = Probing(projection_dim=8, hidden_dim=16, epochs=20, learning_rate=1e-3, permutations=200)


def suite(questions=60, names=KINDS):
    """Questions of three steps; each step starts with the ones before it."""
    return Task.of("suite", [Example(**row) for row in steps(questions, names)])


def test_a_step_is_read_from_a_longer_row_as_from_its_own(tiny):
    task = suite(24)
    features = read_features(tiny, task, Reading("all"))
    for number, example in enumerate(task.prompts("test")):
        row = tiny.encode(example.prompt, example.target)
        z = tiny.read([row.ids], positions=[list(row.positions)])[0]  # layer head pos d_head
        alone = z.mean(2).flatten(0, 1).numpy()
        assert np.abs(features.z["test"][number] - alone).max() < 2e-4 * np.abs(alone).max()
        with torch.no_grad():
            states = tiny.hf(torch.tensor([row.ids]), output_hidden_states=True).hidden_states
        for place, depth in enumerate(features.depths[:-1]):
            stream = states[depth][0, list(row.positions)].mean(0).numpy()
            np.testing.assert_allclose(features.stream["test"][number, place], stream, atol=1e-4)
    assert features.depths == (0, 1, 2, 3)
    for split, read in features.examples.items():
        assert len(features.stream[split]) == len(features.z[split]) == len(read)


def test_tokens_that_are_read(tiny):
    example = Example("ab:", " xyzzy", function="f")
    row = tiny.encode(example.prompt, example.target)
    task = suite(24)
    first, last, every, telling = (
        positions_read(tiny, task, row, choice) for choice in ("first", "last", "all", "content")
    )
    assert first == [row.target_start]
    assert last == [len(row) - 1]
    assert every == list(row.positions)
    assert set(telling) <= set(every)
    assert 1 <= len(telling) <= 5
    # a space is no word, and the letters that are rarest in the train questions are read
    assert all(tiny.tokenizer.decode([row.ids[i]]).strip() for i in telling)
    with pytest.raises(HeadAtlasError, match="one of first, last, content, all, not 'some'"):
        Reading("some")
    with pytest.raises(HeadAtlasError, match="one of reference, generated, not 'guessed'"):
        Reading(answers="guessed")


@pytest.mark.parametrize("examples", [1, 30, 60, 10_000])
def test_about_as_many_examples_are_read_as_requested(tiny, examples, monkeypatch):
    """Whole questions of three examples: a split may read two more than its share, rounded up."""
    task = suite()
    rows = []
    real = reading.read_heads_and_stream

    def read(model, ids, positions):
        rows.extend(ids)
        return real(model, ids, positions)

    monkeypatch.setattr(reading, "read_heads_and_stream", read)
    features = read_features(tiny, task, Probing(examples=examples).reading())
    count = sum(map(len, features.labels.values()))
    most = sum(len(task.split(split)) for split in SPLITS_READ)
    assert min(examples, most) <= count <= min(examples + 9, most)
    assert len(rows) == count / 3  # the steps of a question are read in one row
    for split in SPLITS_READ:
        sizes = Counter(features.questions[split])
        assert set(sizes.values()) == {3}


def test_no_question_crosses_splits():
    task = suite()
    homes = [{each.question for each in task.splits[split]} for split in SPLITS]
    assert sum(map(len, homes)) == len(set().union(*homes)) == 60


def test_the_probe_learns_from_train_alone_and_importance_comes_from_select(tiny):
    task = suite()
    plain = SMALL.run(tiny, task, 0)
    for split, variable in (("test", "importance"), ("select", "predicted")):
        turned = {each: examples for each, examples in task.splits.items() if each != split}
        labels = [each.function for each in task.splits[split]]
        names = [*labels[1:], labels[0]]
        turned[split] = tuple(
            replace(each, function=name)
            for each, name in zip(task.splits[split], names, strict=True)
        )
        other = SMALL.run(tiny, replace(task, splits=turned), 0)
        assert other.data[variable].identical(plain.data[variable])


def test_the_same_seed_gives_the_same_map_and_another_lies_in_the_interval(tiny, tmp_path):
    task, reading = suite(), Reading()
    inputs = {Reading.name: [reading.run(tiny, task, part=p) for p in reading.parts(tiny.spec)]}
    seeds = [SMALL.run(tiny, task, seed, inputs=inputs) for seed in range(8)]
    again = SMALL.run(tiny, task, 1).save(tmp_path / "again.nc")  # reads the features itself
    assert seeds[1].save(tmp_path / "one.nc").read_bytes() == again.read_bytes()
    maps = combine(seeds)["importance"]
    assert not np.allclose(maps.isel(seed=0), maps.isel(seed=1))
    bounds = next_interval(maps.isel(seed=slice(0, 5)))
    later = maps.isel(seed=slice(5, None))
    inside = (later >= bounds.sel(bound="lower")) & (later <= bounds.sel(bound="upper"))
    assert float(inside.mean()) > 0.9


def test_the_parts_of_the_importance_make_up_the_whole(tiny):
    head_map = SMALL.run(tiny, suite(), 0)
    counts = head_map["part_examples"]
    parts = head_map["importance_part"]
    assert parts.dims == ("part", "function", "seed", "layer", "head")
    whole = (parts.fillna(0) * counts).sum("part") / counts.sum("part")
    np.testing.assert_allclose(whole, head_map["importance"], rtol=1e-4, atol=1e-7)


def test_the_probe_of_shuffled_labels_leaves_its_own_importance(tiny):
    head_map = SMALL.run(tiny, suite(), 0)
    own, shuffled = head_map["importance"], head_map["shuffled_importance"]
    assert own.dims == shuffled.dims
    assert np.isfinite(shuffled).all()
    assert not np.allclose(own, shuffled)


def test_functions_with_too_few_examples_are_named_and_left_out(tiny):
    task = suite()
    rare = [replace(each, function="Rare") for each in task.splits["train"][:3]]
    splits = dict(task.splits) | {"train": (*rare, *task.splits["train"][3:])}
    with_rare = replace(task, splits=splits)
    assert task_functions(with_rare)[0] == list(KINDS)
    assert SMALL.check(tiny, with_rare) == ["'Rare' has too few examples (0) and is left out"]
    assert SMALL.run(tiny, with_rare, 0).data["function"].to_numpy().tolist() == list(KINDS)


def test_labels_that_differ_in_case_are_a_mistake():
    with pytest.raises(TaskError, match="'Retrieval' and 'retrieval' differ only in case or sp"):
        task_functions(suite(names=("Retrieval", "retrieval", "Inference")))
    with pytest.raises(TaskError, match="two with 5 examples in every split; 'suite' has, in"):
        task_functions(suite(names=("Retrieval",)))


def test_generated_answers_are_judged_and_wrong_ones_counted(tiny, monkeypatch):
    task = suite(24)
    answers = {e.prompt: e.target for split in SPLITS for e in task.splits[split]}

    def generate(prompts, **options):
        return [
            "wrong" if prompt.endswith(" In:") else f"{answers[prompt]}\nQ: and then?"
            for prompt in prompts
        ]

    monkeypatch.setattr(tiny, "generate", generate)
    own = read_features(tiny, task, Reading("first", "generated"))
    reference = read_features(tiny, task, Reading("first"))
    for split, labels in reference.labels.items():
        assert own.labels[split] == [label for label in labels if label != "Inference"]
    assert own.wrong == sum(labels.count("Inference") for labels in reference.labels.values()) > 0
    assert own.settings != reference.settings
    targets = {example.prompt: example.target for example in own.examples["train"]}
    assert targets
    assert all(target == answers[prompt] for prompt, target in targets.items())
    assert np.abs(own.z["train"][0] - reference.z["train"][0]).max() < 1e-4


@pytest.mark.parametrize("target", ["red", " red"])
def test_an_own_answer_begins_as_the_target_does(tiny, monkeypatch, target):
    monkeypatch.setattr(tiny, "generate", lambda prompts, **options: ["  Red.\nQ: and?"])
    answered = own_answers(tiny, {3: Example("Which colour?", target)})
    assert answered[3].target == target.replace("red", "Red.")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epochs": 0}, "epochs of at least 1, not 0"),
        ({"dropout": 1.0}, "a dropout of at least 0 and below 1, not 1.0"),
        ({"learning_rate": 0.0}, "a learning_rate above 0, not 0.0"),
        ({"tokens": "x"}, "tokens must be one of first, last, content, all, not 'x'"),
        ({"examples": 0}, "examples of at least 1, not 0"),
        ({"epochs": 1.5}, "epochs of at least 1, not 1.5"),
        ({"weight_decay": -1}, "a weight_decay of at least 0, not -1"),
    ],
)
def test_settings_that_make_no_sense(settings, words):
    with pytest.raises(HeadAtlasError, match=words):
        Probing(**settings)


def test_a_model_with_layers_without_heads_is_probed():
    hf = build("qwen3_next")
    tokenizer = byte_tokenizer()
    hf.resize_token_embeddings(len(tokenizer))
    model = Model(hf, tokenizer, "hybrid")
    assert len(model.spec.heads()) < model.spec.n_layers * model.spec.n_heads
    head_map = SMALL.run(model, suite(), 0)
    exists = np.isfinite(head_map["importance"].isel(function=0, seed=0).to_numpy())
    assert [tuple(head) for head in np.argwhere(exists)] == model.spec.heads()
