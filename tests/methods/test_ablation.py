"""Zero ablation equals removing the head's columns by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from headatlas.errors import EditError, HeadAtlasError, TaskError
from headatlas.maps import combine, load_map
from headatlas.methods import Ablation, Attention, Attribution, Patching, Writes
from headatlas.tasks import Example, Task
from small_things import tiny_llama

TASK = Task.of("t", [Example("ab " * i, "cd") for i in range(1, 6)])


def test_the_effect_is_that_of_zeroed_columns():
    model = tiny_llama()
    head_map = Ablation().run(model, TASK)
    rows = [model.encode(example.prompt, example.target) for example in TASK.split("test")]
    plain = model.score(rows).mean()
    for layer, head in model.spec.heads():
        weight = model.hf.model.layers[layer].self_attn.o_proj.weight
        kept = weight.detach().clone()
        weight.data[:, head * 16 : (head + 1) * 16] = 0
        change = (model.score(rows).mean() - plain).detach()
        weight.data.copy_(kept)
        effect = head_map["effect"].sel(seed=0, layer=layer, head=head)
        assert float(effect) == pytest.approx(float(change.mean()), abs=1e-5)
        error = float(head_map["effect_se"].sel(seed=0, layer=layer, head=head))
        assert error == pytest.approx(float(change.std() / 5**0.5), abs=1e-5)


def test_parts_together_are_the_whole(tiny):
    whole = Ablation().run(tiny, TASK)
    for part in Ablation().parts(tiny.spec):
        piece = Ablation().run(tiny, TASK, part=part)
        layer = part["heads"][0][0]
        np.testing.assert_array_equal(piece["effect"][0, layer], whole["effect"][0, layer])
        assert np.isnan(piece["effect"].drop_sel(layer=layer)).all()


def test_some_heads_only(tiny):
    head_map = Ablation(heads=((2, 1), (0, 3))).run(tiny, TASK)
    finite = np.argwhere(np.isfinite(head_map["effect"].to_numpy()[0]))
    assert finite.tolist() == [[0, 3], [2, 1]]
    with pytest.raises(EditError, match=r"no head 0\.4"):
        Ablation(heads=((0, 4),)).parts(tiny.spec)


def test_provenance_and_kv_groups(tiny):
    head_map = Ablation(examples=3).run(tiny, TASK, seed=5)
    assert head_map.provenance["model_hash"] == tiny.fingerprint
    assert head_map.provenance["task_hash"] == TASK.hash
    assert head_map.provenance["settings"]["examples"] == 3
    assert head_map.provenance["split"] == "test"  # with five questions there are no others
    assert head_map.provenance["examples_used"] == 3
    assert head_map.data["seed"].to_numpy().tolist() == [5]
    assert head_map.data["kv_group"].to_numpy().tolist() == [[0, 0, 1, 1]] * 3


def test_examples_that_do_not_fit_are_counted(tiny):
    long = Task.of("long", [*TASK.split("test"), Example("x" * 600, "y")])
    head_map = Ablation().run(tiny, long, part={"heads": [[0, 0]]})
    assert head_map.provenance["examples_too_long"] == 1
    np.testing.assert_allclose(
        head_map["effect"][0, 0, 0],
        Ablation().run(tiny, TASK, part={"heads": [[0, 0]]})["effect"][0, 0, 0],
        rtol=1e-4,
    )
    with pytest.raises(TaskError, match="no example of 'all' fits the context of tiny"):
        Ablation().run(tiny, Task.of("all", [Example("x" * 600, "y")]))


def test_settings_that_make_no_sense():
    with pytest.raises(HeadAtlasError, match="no heads were given"):
        Ablation(heads=())
    with pytest.raises(HeadAtlasError, match="at least 2 examples"):
        Ablation(examples=1)


@pytest.mark.parametrize("heads", ["0.1", "01", ("0.1",), (0, 1), ((0, 1, 2),), ((0, 1.5),), ([],)])
def test_heads_that_are_no_pairs_are_one_sentence(heads):
    with pytest.raises(HeadAtlasError, match=r"heads are pairs \(layer, head\), such as") as caught:
        Ablation(heads=heads)
    assert repr(heads) in str(caught.value)


def test_the_model_is_as_before(tiny):
    ids = torch.arange(5, 12)[None]
    before = tiny.hf(ids).logits
    Ablation().run(tiny, TASK)
    assert torch.equal(tiny.hf(ids).logits, before)


def _questions(task):
    return {example.question for example in task.split("train") if example.function}


def test_every_function_has_the_effect_of_its_own_examples(tiny):
    examples = []
    for number in range(20):
        told = f"{number} ab"
        for name in ("Retrieval", "Inference"):
            examples.append(Example(told, f" c{number % 3}", function=name, group=f"q{number}"))
            told += f" c{number % 3} d"
    task = Task.of("steps", [*examples, Example("no function", "x")])
    head_map = Ablation(examples=None, by_function=True).run(tiny, task)
    assert head_map["effect"].dims == ("function", "seed", "layer", "head")
    assert head_map.data["function"].to_numpy().tolist() == ["Retrieval", "Inference"]
    for name in ("Retrieval", "Inference"):
        alone = Ablation(examples=None).run(tiny, task.only(name))
        for variable in ("effect", "effect_se"):
            both = head_map[variable].sel(function=name), alone[variable]
            np.testing.assert_allclose(*both, rtol=1e-3, atol=1e-6)
    # a stored unit with other variables is of another version
    assert (Ablation.version, head_map.variables) == (5, ["effect", "effect_se", "effect_half"])
    halves = head_map["effect_half"]
    assert halves.dims == ("half", "function", "seed", "layer", "head")
    count = len(_questions(task))
    sizes = ((count + 1) // 2, count // 2)
    mean = sum(size * halves.isel(half=k) for k, size in enumerate(sizes)) / count
    np.testing.assert_allclose(mean, head_map["effect"], rtol=1e-3, atol=1e-6)
    assert not np.allclose(halves.isel(half=0), halves.isel(half=1))
    few = Ablation(examples=5, by_function=True)
    assert few.run(tiny, task, part={"heads": [[0, 0]]}).provenance["examples_used"] == 6
    with pytest.raises(TaskError, match="no test example of 't' says what function it needs"):
        few.run(tiny, TASK)


@pytest.mark.parametrize("method", [Ablation, Attribution, Attention, Patching, Writes])
def test_several_equal_seeds_are_told_with_the_split_that_is_measured(tiny, method):
    examples = [Example(f"ab ab {i}", "cd", corrupted=f"ab x {i}") for i in range(20)]
    task = Task.of("small", examples)
    settings = {"replacement": "zero"} if method is Attribution else {}
    for split, named in ((None, "train"), ("test", "test")):
        all_of_them = method(examples=None, split=split, **settings)
        said = f"all seeds give the same map: the task has no more {named} questions to sample"
        assert said in all_of_them.check(tiny, task, seeds=2)
        assert said not in all_of_them.check(tiny, task)
        assert said not in method(examples=2, split=split).check(tiny, task, seeds=2)
    if method in (Ablation, Attribution):
        assert method(examples=None, replacement="mean").check(tiny, task, seeds=2) == []


def test_kept_examples_say_which_questions_they_are(tiny, tmp_path):
    task = Task.of("many", [Example(f"ab {i}", "cd") for i in range(60)])
    method = Ablation(examples=3, keep_examples=True)
    parts = [method.run(tiny, task, seed, part={"heads": [[0, 0]]}) for seed in range(2)]
    whole = load_map(combine(parts).save(tmp_path / "map.nc"))
    wanted = [[example.question for example in method.sample(task, seed)] for seed in range(2)]
    assert wanted[0] != wanted[1]
    assert whole["example_question"].transpose("seed", "example").to_numpy().tolist() == wanted
    fewer = replace(method, examples=2).run(tiny, task, 2, part={"heads": [[0, 0]]})
    uneven = load_map(combine([*parts, fewer]).save(tmp_path / "uneven.nc"))
    assert uneven["example_question"].sel(seed=0).to_numpy().tolist() == wanted[0]


def test_train_questions_are_measured_unless_another_split_is_named(tiny):
    task = Task.of("many", [Example(f"ab {i}", "cd") for i in range(20)])
    part = {"heads": [[0, 0]]}
    usual, named = Ablation(), Ablation(split="test")
    assert {example.prompt for example in usual.sample(task, 0)} == {
        example.prompt for example in task.split("train")
    }
    maps = [method.run(tiny, task, part=part) for method in (usual, named)]
    assert [head_map.provenance["split"] for head_map in maps] == ["train", "test"]
    assert maps[0].name != maps[1].name
    with pytest.raises(TaskError, match="split"):
        Ablation(split="exam")
