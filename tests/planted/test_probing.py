"""Probing: a planted head is found, chance is not, and splits stay apart."""

from __future__ import annotations

import random

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from headatlas.methods.probing import Probing
from headatlas.models.model import Model
from headatlas.tasks import Example, Task
from small_things import byte_tokenizer

LABELS = "wxyz"
CARRIER = (1, 2)


def labelled_task(questions: int = 480) -> Task:
    """Four functions, told by one letter of the prompt; everything else is head_map at random."""
    rng = random.Random(0)
    examples = []
    for number in range(questions):
        noise = "".join(rng.choices("abcdefgh", k=9))
        label = LABELS[number % 4]
        prompt = f"{noise}{label}{number % 7}"
        examples.append(Example(prompt, "".join(rng.choices("abcd", k=3)), function=label))
    return Task.of("labelled", examples)


def planted_model(*, carries: bool) -> Model:
    """Attention is uniform; the label's letters have directions of their own, and only one head's
    values may hold them."""
    tokenizer = byte_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        tie_word_embeddings=False,
    )
    torch.manual_seed(0)
    hf = LlamaForCausalLM(config).eval()
    embedding = hf.model.embed_tokens.weight.data
    embedding.normal_()
    embedding[:, :4] = 0
    for place, letter in enumerate(LABELS):
        (token,) = tokenizer(letter, add_special_tokens=False)["input_ids"]
        embedding[token] = 0
        embedding[token, place] = 8.0
    for layer in hf.model.layers:
        attention = layer.self_attn
        for matrix in (attention.q_proj, attention.k_proj, layer.mlp.down_proj):
            matrix.weight.data.zero_()
        attention.v_proj.weight.data.normal_(0, 0.3)
        attention.v_proj.weight.data[:, :4] = 0
        attention.o_proj.weight.data.normal_(0, 0.02)
        attention.o_proj.weight.data[:4] = 0
    layer, head = CARRIER
    own = slice(16 * head, 16 * head + 16)
    attention = hf.model.layers[layer].self_attn
    attention.o_proj.weight.data[:, own] = 0
    if carries:
        attention.v_proj.weight.data[own, :4] = torch.randn(16, 4)
    return Model(hf, tokenizer, "planted")


PROBING = Probing(epochs=60, learning_rate=1e-3, batch_size=32)


def test_the_head_that_carries_the_label_comes_first():
    head_map = PROBING.run(planted_model(carries=True), labelled_task())
    for function in LABELS:
        at = head_map["importance"].sel(function=function, seed=0).to_numpy()
        assert np.unravel_index(int(at.argmax()), at.shape) == CARRIER
        assert head_map["importance_p"].sel(function=function, seed=0, layer=1, head=2) < 0.05
    assert (head_map.data["predicted"] == head_map.data["truth"]).mean() > 0.9
    assert (head_map.data["control"] == head_map.data["truth"]).mean() < 0.6


def test_nothing_passes_where_no_head_carries_the_label():
    head_map = PROBING.run(planted_model(carries=False), labelled_task())
    assert float(head_map["importance_p"].min()) > 0.05
