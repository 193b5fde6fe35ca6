"""The verification can say no: each check fails on a model, or an edit, that is wrong."""

from __future__ import annotations

import pytest
import torch
from transformers import BertConfig, BertLMHeadModel

from architectures.small_models import build
from headatlas.errors import ModelError, VerificationError
from headatlas.models.edit import Edit
from headatlas.models.heads.verify import require_verified, verify
from headatlas.models.model import Model
from headatlas.models.run.shortcuts import continues_from_cache
from small_things import byte_tokenizer, tiny_hf, tiny_llama


def results(model):
    return {check.name: check.passed for check in verify(model)}


def test_the_real_model_passes(embedded):
    checks = require_verified(embedded)
    assert [check.name for check in checks] == [
        "causal",
        "gate 1",
        "gate 0",
        "every head",
        "gradient",
    ]
    assert "270 of 270" in checks[3].detail


def sabotage(monkeypatch, wrong):
    """Replace what an edit does."""
    right = Edit.apply
    monkeypatch.setattr(Edit, "apply", lambda self, z, layer, at: wrong(right, self, z, layer, at))


def test_an_edit_that_does_nothing_fails(tiny, monkeypatch):
    sabotage(monkeypatch, lambda right, self, z, layer, at: z)
    passed = results(tiny)
    assert not passed["gate 0"]
    assert not passed["every head"]
    assert not passed["gradient"]


def test_an_edit_that_disturbs_open_gates_fails(tiny, monkeypatch):
    sabotage(monkeypatch, lambda right, self, z, layer, at: right(self, z, layer, at) * 1.001)
    assert not results(tiny)["gate 1"]


def test_an_edit_of_the_neighbour_fails(tiny, monkeypatch):
    def swapped(right, self, z, layer, at):
        return right(self, z.flip(2), layer, at).flip(2)

    sabotage(monkeypatch, swapped)
    passed = results(tiny)
    assert passed["gate 1"]
    assert not passed["gate 0"]


def test_an_edit_that_only_shrinks_fails(tiny, monkeypatch):
    """Multiplying by 0.01 is not removal."""

    def shrink(right, self, z, layer, at):
        return right(self, z, layer, at) * 0.99 + 0.01 * z

    sabotage(monkeypatch, shrink)
    assert not results(tiny)["gate 0"]


def test_an_edit_that_detaches_fails(tiny, monkeypatch):
    sabotage(monkeypatch, lambda right, self, z, layer, at: right(self, z, layer, at).detach())
    checks = {check.name: check for check in verify(tiny)}
    assert not checks["gradient"].passed


def test_an_edit_of_the_last_position_only_fails(tiny, monkeypatch):
    def last(right, self, z, layer, at):
        return torch.cat([z[:, :-1], right(self, z[:, -1:], layer, at)], dim=1)

    sabotage(monkeypatch, last)
    assert not results(tiny)["gate 0"]


def test_a_model_that_looks_ahead_is_refused():
    config = BertConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32
    )
    torch.manual_seed(0)
    model = Model(BertLMHeadModel(config), None, "bert")
    with pytest.raises(VerificationError, match=r"bert cannot be mapped.*causal"):
        require_verified(model)
    assert repr(model).endswith("failed verification)")


def test_a_dead_head_is_named_and_not_held_against_the_model():
    model = tiny_llama()
    model.hf.model.layers[1].self_attn.o_proj.weight.data[:, 32:48] = 0
    checks = {check.name: check for check in require_verified(model)}
    assert "1 more are dead by their weights: 1.2" in checks["every head"].detail


def test_a_model_without_attention_is_refused():
    with pytest.raises(ModelError, match="no attention heads were found in MambaForCausalLM"):
        Model(build("mamba"), None, "mamba")


def test_heads_that_share_columns_are_refused_rather_than_guessed():
    with pytest.raises(ModelError, match="cannot be told apart"):
        Model(build("jetmoe"), None, "jetmoe")


def test_a_cache_that_lies_is_not_used(tiny, monkeypatch):
    assert continues_from_cache(tiny)
    from headatlas.models.run import scoring

    right = scoring.repeat_cache

    def lying(cache, rows):
        repeated = right(cache, rows)
        repeated.layers[0].keys = repeated.layers[0].keys * 1.01
        return repeated

    monkeypatch.setattr(scoring, "repeat_cache", lying)
    assert not continues_from_cache(tiny)


def test_verification_leaves_the_weights_alone(tiny):
    before = {name: value.clone() for name, value in tiny.hf.state_dict().items()}
    verify(tiny)
    assert all(torch.equal(value, before[name]) for name, value in tiny.hf.state_dict().items())
    assert tiny.hf.model.layers[0].self_attn.o_proj.weight.grad is None


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_both_attention_implementations_pass(attention):
    require_verified(Model(build("qwen3", attention=attention), None, attention))


def test_a_model_is_verified_once(monkeypatch):
    model = tiny_llama()
    assert "not verified yet" in repr(model)
    checks = require_verified(model)
    monkeypatch.setattr("headatlas.models.model.verify", lambda model: 1 / 0)
    assert require_verified(model) is checks is model.checks
    assert repr(model).endswith("parameters, verified)")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_short_number_format_excuses_no_edit_that_is_not_obeyed(monkeypatch, dtype):
    model = Model(tiny_hf().to(dtype), byte_tokenizer(), "short")
    assert [check.name for check in verify(model) if not check.passed] == []
    assert model.packs
    monkeypatch.setattr(Edit, "apply", lambda self, z, layer, offset: z)
    failed = {check.name for check in verify(model) if not check.passed}
    assert {"gate 0", "every head", "gradient"} <= failed


def test_a_short_number_format_excuses_no_mask_that_is_not_obeyed(monkeypatch):
    model = Model(tiny_hf().to(torch.bfloat16), byte_tokenizer(), "short")
    monkeypatch.setattr(
        "headatlas.models.run.layout.block_mask",
        lambda owner, dtype: torch.zeros(1, 1, len(owner), len(owner), dtype=dtype),
    )
    assert not model.packs
