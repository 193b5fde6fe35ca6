"""What heads write: direct logits by hand, tokens that stay what they are in files."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from architectures.small_models import build
from headatlas.errors import HeadAtlasError, ModelError, TaskError
from headatlas.maps import combine, load_map
from headatlas.maps.halves import halves
from headatlas.methods import Writes
from headatlas.models.model import Model
from headatlas.tasks import Example, Task
from small_things import byte_tokenizer

TASK = Task.of("t", [Example("ab " * i + f"c{i}", "cd" if i % 2 else "xd") for i in range(2, 9)])
CHOICES = Task.of(
    "c",
    [
        Example("ab " * i + f"c{i}", "cd", choices=("cd", "ce", "f", "g"), group=str(i // 2))
        for i in range(2, 9)
    ],
)


def logits_by_hand(model, example):
    """What every head of a Llama adds to every logit, from weights and head outputs alone: layer ×
    head × token."""
    row = model.encode(example.prompt, example.target)
    prompt = row.ids[: row.target_start]
    z = model.read([prompt])[0, :, :, -1]  # layer head d_head
    seen = []
    handle = model.hf.model.norm.register_forward_pre_hook(lambda m, a: seen.append(a[0]))
    model.hf(torch.tensor([prompt]))
    handle.remove()
    norm, table = model.hf.model.norm, model.hf.lm_head.weight
    gain = norm.weight / (seen[0][0, -1].pow(2).mean() + norm.variance_epsilon) ** 0.5
    logits = torch.zeros(3, 4, len(table))
    for layer, block in enumerate(model.hf.model.layers):
        columns = block.self_attn.o_proj.weight.unflatten(1, (4, 16))  # d_model head d_head
        for head in range(4):
            logits[layer, head] = table @ (gain * (columns[:, head] @ z[layer, head]))
    return logits


def direct_by_hand(model, example, against):
    """The target's logit above the mean, or above those of other answers: layer × head."""
    logits = logits_by_hand(model, example)
    target = model.encode(example.prompt, example.target).target[0]
    others = [model.encode(example.prompt, other).target[0] for other in against]
    away = logits[..., others].mean(-1) if others else logits.mean(-1)
    return (logits[..., target] - away).numpy()


@pytest.mark.parametrize(
    ("method", "task", "against"),
    [
        (Writes(keep_examples=True), TASK, ()),
        (Writes(measure="difference", keep_examples=True), CHOICES, ("f", "g")),
    ],
)
def test_direct_logits_are_those_by_hand(tiny, method, task, against):
    head_map = method.run(tiny, task)
    examples = task.prompts("test", 0, 32)
    expected = np.stack([direct_by_hand(tiny, example, against) for example in examples])
    single = head_map["direct_logit_example"].to_numpy()[:, 0]
    np.testing.assert_allclose(single, expected, atol=1e-5)
    np.testing.assert_allclose(head_map["direct_logit"][0], expected.mean(0), atol=1e-5)
    assert head_map.provenance["heads_value"] == pytest.approx(
        expected.sum((1, 2)).mean(), abs=1e-4
    )


def test_the_value_is_the_models_own_logit(tiny):
    head_map = Writes().run(tiny, TASK)
    values = []
    for example in TASK.prompts("test", 0, 32):
        row = tiny.encode(example.prompt, example.target)
        logits = tiny.hf(torch.tensor([row.ids[: row.target_start]])).logits[0, -1]
        values.append(float(logits[row.target[0]] - logits.mean()))
    assert head_map.provenance["baseline_value"] == pytest.approx(np.mean(values), abs=1e-5)


def test_intervals_and_halves_are_over_questions(tiny):
    head_map = Writes(keep_examples=True, measure="difference").run(tiny, CHOICES)
    assert head_map["questions"].to_numpy().tolist() == [4]
    assert (head_map["direct_logit_se"] > 0).all()
    two = halves(head_map)
    assert two.one.shape == two.other.shape == (3, 4)
    assert not two.one.equals(two.other)
    top = head_map.top(3)
    assert (top["low"] < top["high"]).all()
    assert top["score"].is_monotonic_decreasing
    assert "above those of other answers" in head_map.ranking.score


def test_promoted_tokens_are_the_largest_logits_of_the_mean_example(tiny):
    head_map = Writes(tokens=3).run(tiny, TASK)
    assert head_map["promoted"].dims == ("token", "seed", "layer", "head")
    table = torch.stack(
        [logits_by_hand(tiny, example) for example in TASK.prompts("test", 0, 32)]
    ).mean(0)  # layer head token
    table = table - table.mean(-1, keepdim=True)
    for name, sign in (("promoted", 1), ("suppressed", -1)):
        for layer, head in tiny.spec.heads():
            values, ids = (sign * table[layer, head]).topk(3)
            words = [tiny.tokenizer.decode([token]).replace("\0", "␀") for token in ids.tolist()]
            assert head_map[name].to_numpy()[:, 0, layer, head].tolist() == words
            amounts = head_map[f"{name}_logit"].to_numpy()[:, 0, layer, head]
            np.testing.assert_allclose(amounts, sign * values.numpy(), atol=1e-5)


@pytest.mark.parametrize("family", ["gpt2", "gemma2"])
def test_tokens_survive_files_and_several_seeds(family, tmp_path):
    hf = build(family)
    hf.resize_token_embeddings(258)
    model = Model(hf, byte_tokenizer(), family)
    parts = [Writes(examples=4, tokens=300).run(model, TASK, seed) for seed in range(2)]
    assert parts[0].data.sizes["token"] == 258  # every token there is, also a NUL
    kept = [load_map(part.save(tmp_path / f"{i}.nc")) for i, part in enumerate(parts)]
    whole = combine(kept)
    again = load_map(whole.save(tmp_path / "whole.nc"))
    for name in ("promoted", "suppressed"):
        for seed, part in enumerate(parts):
            words = part[name].to_numpy()[:, 0]
            assert (again[name].transpose("seed", ...).to_numpy()[seed] == words).all()
            assert all(isinstance(word, str) for word in words.ravel())
    assert again.digest == whole.digest
    assert again.top(3)["promoted"].tolist() == whole.top(3)["promoted"].tolist()
    assert "str_" not in again.top(1)["promoted"][0]
    assert again.aggregate("mean")["direct_logit"].shape == (model.spec.n_layers, 4)


def test_the_table_shows_what_is_promoted(tiny):
    head_map = combine([Writes(examples=4).run(tiny, TASK, seed) for seed in range(3)])
    table = head_map.to_dataframe()
    row = table.iloc[0]
    own = head_map["promoted"].sel(layer=row["layer"], head=row["head"]).to_numpy()
    listed = {repr(word) for word in own.ravel()}
    first = row["promoted"].split()[0]
    assert any(first.startswith(word.split()[0]) for word in listed)
    assert "suppressed" in table
    assert "promoted" in head_map.top(2)


def test_answers_that_begin_alike_are_left_out_and_counted(tiny):
    alike = [Example(f"ab {i}", "cd", choices=("cd", "ce")) for i in range(3)]
    apart = [Example(f"ab {i}", "cd", choices=("cd", "e")) for i in range(3, 7)]
    method = Writes(measure="difference")
    facts = method.run(tiny, Task.of("mixed", alike + apart)).provenance
    assert (facts["examples_used"], facts["examples_without_others"]) == (4, 3)
    with pytest.raises(TaskError, match="begin with the same token as its targets in all but 0"):
        method.check(tiny, Task.of("alike", alike))


def test_the_check_tells_of_targets_of_several_tokens(tiny):
    assert any("7 of 7 targets have several tokens" in line for line in Writes().check(tiny, TASK))


def test_wrong_settings_are_refused():
    with pytest.raises(HeadAtlasError, match="no measure 'accuracy' of writes: use logit or"):
        Writes(measure="accuracy")
    with pytest.raises(HeadAtlasError, match="at least 1 token per head, not 0"):
        Writes(tokens=0)


def test_a_model_without_direct_paths_is_refused():
    model = Model(build("openai-gpt"), byte_tokenizer(), "post-norm")
    with pytest.raises(ModelError, match="use ablation instead"):
        Writes().check(model, TASK)


def test_one_pass_per_example(tiny):
    assert Writes().forward_passes(tiny, 20) == 20
