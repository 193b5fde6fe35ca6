"""The attention weights that are read are what transformers itself reports."""

from __future__ import annotations

import pytest
import torch

from architectures.small_models import build
from headatlas.errors import ModelError
from headatlas.models.model import Model
from headatlas.models.run import attention_weights
from headatlas.models.run.attention_weights import _configs, eager_attention, read_attention
from small_things import byte_tokenizer, tiny_hf

ROWS = [[5, 9, 7, 30, 12, 8, 5, 9], [5, 9, 7], [40, 41, 42, 43]]
FAMILIES = ["gemma2", "gemma3_text", "gpt2", "qwen3", "gpt_oss"]


def own_weights(hf, row):
    """Weights by the model's own output: layer × head × query × key."""
    with torch.no_grad():
        reported = hf(torch.tensor([row]), output_attentions=True).attentions
    return torch.stack([weights[0] for weights in reported])


def read(model, rows):
    layers = {}
    read_attention(model, rows, lambda number, layer, w: layers.update({(number, layer): w}))
    return layers


def implementations(hf):
    return [config._attn_implementation for config in _configs(hf)]


@pytest.mark.parametrize("family", ["tiny", *FAMILIES])
@pytest.mark.parametrize("most", [2**24, 1])
def test_weights_are_those_of_an_eager_model(family, most, monkeypatch):
    monkeypatch.setattr(attention_weights, "MOST_WEIGHTS", most)
    hf = tiny_hf() if family == "tiny" else build(family)
    eager = tiny_hf() if family == "tiny" else build(family, attention="eager")
    eager.set_attn_implementation("eager")
    model = Model(hf, byte_tokenizer(), family)
    ids = torch.tensor(ROWS[:1])
    before, logits = implementations(hf), hf(ids).logits
    layers = read(model, ROWS)
    assert implementations(hf) == before
    assert torch.equal(hf(ids).logits, logits)
    assert len(layers) == len(ROWS) * model.spec.n_layers
    for number, row in enumerate(ROWS):
        expected = own_weights(eager, row)
        for layer in range(model.spec.n_layers):
            assert layers[number, layer].shape == expected[layer].shape
            assert torch.allclose(layers[number, layer], expected[layer], atol=1e-5)


def test_heads_are_the_query_heads_of_the_map(tiny):
    weights = read(tiny, ROWS[:1])
    z = tiny.read(ROWS[:1])[0]  # layer head position d_head
    values = {}
    for layer, block in enumerate(tiny.hf.model.layers):
        block.self_attn.v_proj.register_forward_hook(
            lambda module, args, out, layer=layer: values.update({layer: out[0].detach()})
        )
    tiny.hf(torch.tensor(ROWS[:1]))
    for block in tiny.hf.model.layers:
        block.self_attn.v_proj._forward_hooks.clear()
    for layer, head in tiny.spec.heads():
        group = tiny.spec.kv_group(layer, head)
        value = values[layer].unflatten(-1, (2, 16))[:, group]  # position d_head
        assert torch.allclose(weights[0, layer][head] @ value, z[layer, head], atol=1e-5)


def test_everything_is_as_before_after_an_error(tiny):
    before = implementations(tiny.hf)

    def fail(layer, weights):
        raise KeyError("reader")

    with pytest.raises(KeyError), tiny.reading_attention(fail):
        tiny.hf(torch.tensor(ROWS[:1]))
    assert implementations(tiny.hf) == before
    with pytest.raises(KeyError), eager_attention(tiny.hf):
        assert set(implementations(tiny.hf)) == {"eager"}
        raise KeyError("inside")
    assert implementations(tiny.hf) == before
    from transformers import AttentionInterface

    from headatlas.models import interface

    assert AttentionInterface.get_interface is interface._original_get_interface


def test_configurations_inside_others_are_restored():
    hf = build("gemma3")
    before = implementations(hf)
    assert len(before) > 1
    with eager_attention(hf):
        assert set(implementations(hf)) == {"eager"}
    assert implementations(hf) == before != ["eager"] * len(before)


def test_a_model_with_attention_of_its_own_is_refused():
    model = Model(build("gptj"), byte_tokenizer(), "own")
    with pytest.raises(ModelError, match="the attention weights of own cannot be read, as GPTJ"):
        read_attention(model, ROWS, print)
