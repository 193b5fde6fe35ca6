"""Attention scores equal those computed by hand from what transformers reports."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from architectures.small_models import build
from headatlas.cli.attention import Score
from headatlas.errors import HeadAtlasError, ModelError, TaskError
from headatlas.maps.halves import halves
from headatlas.maps.importance import ATTENTION
from headatlas.methods import Attention
from headatlas.methods.attention import SCORES, even_scores
from headatlas.models.model import Model
from headatlas.tasks import Example, Task
from small_things import byte_tokenizer, tiny_llama

TASK = Task.of("t", [Example("ab " * i + f"c{i}", "cd" if i % 2 else "xd") for i in range(2, 8)])


def by_hand(weights, ids, start):
    """Loops over the weights (head × query × key) of one row, as the docstring defines them."""
    n = len(ids) - 1
    found = {name: [] for name in ("induction", "previous_token", "duplicate_token")}
    found |= {"first_token": [], "target_token": [], "entropy": []}
    for i in range(n):
        earlier = [j for j in range(i) if ids[j] == ids[i]]
        after = [j + 1 for j in earlier if j + 1 < i]
        if after:
            found["induction"].append(sum(weights[:, i, k] for k in after))
        if earlier:
            found["duplicate_token"].append(sum(weights[:, i, k] for k in earlier))
        if i >= 1:
            found["previous_token"].append(weights[:, i, i - 1])
            found["first_token"].append(weights[:, i, 0])
            own = weights[:, i, : i + 1]
            found["entropy"].append(-(own * own.clamp_min(1e-30).log()).sum(-1))
    target = [k for k in range(start) if ids[k] == ids[start]]
    if target:
        found["target_token"].append(sum(weights[:, start - 1, k] for k in target))
    return {name: torch.stack(own).mean(0) for name, own in found.items() if own}


def test_scores_are_those_by_hand():
    model = Model(build("qwen3", attention="eager"), None, "small")
    model.hf.resize_token_embeddings(258)
    model = Model(model.hf, byte_tokenizer(), "small")
    head_map = Attention(keep_examples=True).run(model, TASK)
    examples = TASK.prompts("test", 0, 32)
    expected = {}
    for example in examples:
        row = model.encode(example.prompt, example.target)
        with torch.no_grad():
            out = model.hf(torch.tensor([row.ids[:-1]]), output_attentions=True)
        for layer, weights in enumerate(out.attentions):
            for name, own in by_hand(weights[0], row.ids, row.target_start).items():
                expected.setdefault((name, layer), []).append(own.numpy())
    for (name, layer), values in expected.items():
        values = np.stack(values)
        mean, se = head_map[name][0, layer], head_map[f"{name}_se"][0, layer]
        np.testing.assert_allclose(mean, values.mean(0), atol=1e-5)
        np.testing.assert_allclose(se, values.std(0, ddof=1) / len(values) ** 0.5, atol=1e-5)
    assert head_map["induction_example"].shape[0] == 6


def test_examples_without_the_target_in_the_prompt_are_left_out_and_counted(tiny):
    head_map = Attention(keep_examples=True).run(tiny, TASK)
    assert head_map.provenance["examples_of"]["target_token"] == 3
    assert head_map.provenance["examples_of"]["induction"] == 6
    assert head_map["target_token_questions"].to_numpy().tolist() == [3]
    single = head_map["target_token_example"].to_numpy()[:, 0, 0, 0]
    assert np.isnan(single).sum() == 3
    kept = single[np.isfinite(single)]
    assert float(head_map["target_token"][0, 0, 0]) == pytest.approx(kept.mean())
    halves = head_map["target_token_half"].to_numpy()[:, 0, 0, 0]
    np.testing.assert_allclose(halves, [kept[[0, 2]].mean(), kept[1]])
    assert any("target_token is measured on 3 of 6" in r for r in Attention().check(tiny, TASK))


def test_weights_lie_between_0_and_1(tiny):
    head_map = Attention().run(tiny, TASK)
    for name in ("induction", "previous_token", "duplicate_token", "first_token", "target_token"):
        assert ((head_map[name] >= 0) & (head_map[name] <= 1)).all()
    assert (head_map["entropy"] > 0).all()


def test_prompts_without_repeated_tokens_are_refused(tiny):
    task = Task.of("plain", [Example(text, "xyz") for text in ("abc", "def", "ghi", "klm")])
    for act in (Attention().run, Attention().check):
        with pytest.raises(TaskError, match=r"only 0 of 4 examples of 'plain' do"):
            act(tiny, task)
    other = Attention(score="previous_token").run(tiny, task)
    assert np.isfinite(other["previous_token"]).all()
    assert np.isnan(other["induction"]).all()


@pytest.mark.parametrize("score", SCORES)
def test_the_score_that_is_named_ranks_heads(tiny, score):
    head_map = Attention(score=score).run(tiny, TASK)
    assert head_map.variables[0] == score
    top = head_map.top(12)
    largest = np.sort(head_map[score].to_numpy().ravel())[::-1]
    np.testing.assert_allclose(top["score"], largest)
    assert head_map.ranking.score == ATTENTION[score]
    half = halves(head_map).one.to_numpy()
    np.testing.assert_array_equal(half, head_map[f"{score}_half"].to_numpy()[0, 0])
    assert top["p"].between(0, 1).all()
    assert float(head_map[f"{score}_even"][0]) > 0


def test_the_entropy_of_even_attention():
    row = tiny_llama().encode("abc", "d")
    assert even_scores(row)["entropy"] == pytest.approx((math.log(2) + math.log(3)) / 2)


def test_heads_are_tested_against_even_attention(tiny):
    head_map = Attention().run(tiny, TASK)
    score = float(head_map["induction"][0, 1, 2])
    even = head_map.data.assign_coords(induction_even=("seed", [score]))
    table = replace(head_map, data=even).to_dataframe().set_index(["layer", "head"])
    assert table.loc[(1, 2), "p"] == 1
    assert table["p"].min() < 0.05


@pytest.mark.parametrize("score", ["induction", "entropy"])
def test_heads_that_attend_less_than_evenly_have_no_star(tiny, score):
    head_map = Attention(score=score).run(tiny, TASK)
    above = head_map.data.assign_coords({f"{score}_even": ("seed", [2 * head_map[score].max()])})
    table = replace(head_map, data=above)
    assert table.to_dataframe()["significant"].any() == (score == "entropy")
    assert table.ranking.correction == (
        f"12 heads; {'two' if score == 'entropy' else 'one'}-sided, against attending evenly to "
        "all tokens"
    )


def test_there_is_no_other_score():
    with pytest.raises(HeadAtlasError, match="no score 'sink': use induction, previous_token"):
        Attention(score="sink")


def test_one_pass_per_example(tiny):
    assert Attention().forward_passes(tiny, 20) == 20


def test_a_model_with_attention_of_its_own_is_refused():
    model = Model(build("gptj"), byte_tokenizer(), "own")
    with pytest.raises(ModelError, match="cannot be read"):
        Attention().check(model, TASK)


def test_the_command_offers_the_same_scores():
    assert tuple(score.value for score in Score) == SCORES
