"""Models whose weights are kept in main memory or on disk until a module runs."""

from __future__ import annotations

import copy

import pytest
import torch
from accelerate import cpu_offload, disk_offload

from architectures.small_models import build
from headatlas.errors import ModelError
from headatlas.models.edit import Edit
from headatlas.models.heads.verify import verify
from headatlas.models.load.export import export_model, fold_gates
from headatlas.models.load.loader import load_model
from headatlas.models.model import Model
from headatlas.models.tokens import Tokens
from headatlas.models.weights import load_weight
from small_things import byte_tokenizer, tiny_hf

ROWS = [Tokens((*range(5, 25), 30 + i, 40), 21) for i in range(4)]


def in_memory(hf, folder):
    return cpu_offload(hf)


def on_disk(hf, folder):
    disk_offload(hf, folder)
    return hf


@pytest.fixture(params=["llama", "tied", "gpt2", "bloom", "zamba2"])
def present(request):
    """Separate and tied embeddings, columns stored first, a hooked site, a shared projection."""
    if request.param == "llama":
        return Model(tiny_hf(), byte_tokenizer(), "llama")
    if request.param == "tied":
        return Model(build("gemma2"), None, "tied")
    return Model(build(request.param), None, request.param)


@pytest.fixture(params=[in_memory, on_disk])
def offloaded(request, present, tmp_path):
    hf = request.param(copy.deepcopy(present.hf), tmp_path / "weights")
    assert next(hf.parameters()).is_meta
    return Model(hf, present.tokenizer, present.spec.name)


def test_an_offloaded_model_is_the_same_model(present, offloaded):
    assert offloaded.spec == present.spec
    assert offloaded.fingerprint == present.fingerprint
    assert offloaded.device == torch.device("cpu")


def test_an_offloaded_model_is_verified(offloaded):
    assert [(check.name, check.detail) for check in verify(offloaded) if not check.passed] == []
    assert next(offloaded.hf.parameters()).is_meta


def test_the_checks_of_an_offloaded_model_can_fail(present, tmp_path, monkeypatch):
    """The weights that stand in for closed gates are really used."""
    offloaded = Model(in_memory(copy.deepcopy(present.hf), tmp_path), None, "offloaded")
    monkeypatch.setattr(Edit, "apply", lambda self, z, layer, offset: z)
    assert "gate 0" in {check.name for check in verify(offloaded) if not check.passed}


def test_an_offloaded_model_gives_the_same_scores_and_gradients(present, offloaded):
    results = []
    for model in (present, offloaded):
        gate = torch.full((model.spec.n_layers, model.spec.n_heads), 0.7, requires_grad=True)
        score = model.score(ROWS, Edit(gate)).mean()
        score.sum().backward()
        results.append((score.detach(), gate.grad))
    torch.testing.assert_close(results[1], results[0])
    ids = [list(row.ids) for row in ROWS]
    torch.testing.assert_close(offloaded.read(ids), present.read(ids), equal_nan=True)
    assert offloaded.generate(ids, max_new_tokens=4) == present.generate(ids, max_new_tokens=4)


def test_an_offloaded_model_is_exported_with_its_weights(present, offloaded, tmp_path):
    gate = torch.rand(present.spec.n_layers, present.spec.n_heads)
    wanted, state = fold_gates(present, gate), fold_gates(offloaded, gate)
    assert state.keys() == wanted.keys()
    for name, value in wanted.items():
        assert torch.equal(state[name], value), name
    folder = export_model(offloaded, gate, tmp_path / "exported")
    again = load_model(str(folder))
    with torch.no_grad(), present.editing(Edit(gate)):
        logits = present.hf(torch.tensor([ROWS[0].ids])).logits
    torch.testing.assert_close(again.hf(torch.tensor([ROWS[0].ids])).logits, logits)


def test_a_device_map_with_a_part_on_disk(tiny_folder, tmp_path):
    device_map = {"model.embed_tokens": "cpu", "model.layers.0": "cpu", "model.layers.1": "disk"}
    device_map |= {"model.layers.2": "disk", "model.norm": "cpu", "model.rotary_emb": "cpu"}
    device_map |= {"lm_head": "disk"}
    whole = load_model(str(tiny_folder), device="cpu")
    parts = load_model(str(tiny_folder), device="cpu", device_map=device_map)
    assert any(parameter.is_meta for parameter in parts.hf.parameters())
    assert parts.fingerprint == whole.fingerprint
    assert all(check.passed for check in parts.checks)
    folder = export_model(parts, torch.ones(3, 4), tmp_path / "exported")
    assert load_model(str(folder), device="cpu").fingerprint == whole.fingerprint


def test_a_weight_without_numbers_is_one_sentence():
    hf = tiny_hf().to("meta")
    with pytest.raises(ModelError, match=r"the weight lm_head\.weight has no numbers"):
        load_weight(hf, "lm_head.weight")
