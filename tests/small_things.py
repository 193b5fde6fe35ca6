"""Tiny models, tokenizers and files that tests build."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from gguf import GGUFWriter
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from headatlas.maps import Map
from headatlas.models.model import Model

BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
SPECIALS = ["<s>", "</s>"]


def byte_tokenizer() -> PreTrainedTokenizerFast:
    """One token per byte, and the special tokens <s> and </s>."""
    vocabulary = {token: i for i, token in enumerate([*SPECIALS, *BYTES])}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>")


def tiny_config(layers: int = 3) -> LlamaConfig:
    return LlamaConfig(
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        vocab_size=len(BYTES) + len(SPECIALS),
        max_position_embeddings=512,
        bos_token_id=0,
        eos_token_id=1,
    )


def tiny_hf(layers: int = 3, seed: int = 0) -> LlamaForCausalLM:
    """Random weights, large enough that every head matters."""
    torch.manual_seed(seed)
    model = LlamaForCausalLM(tiny_config(layers))
    for parameter in model.parameters():
        if parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5)
    return model.eval()


def tiny_llama(layers: int = 3, seed: int = 0) -> Model:
    return Model(tiny_hf(layers, seed), byte_tokenizer(), "tiny")


def save_tiny_folder(folder: Path, layers: int = 3) -> Path:
    tiny_hf(layers).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


def write_task(path: Path, count: int = 6) -> Path:
    """A task file with prompts of several lengths."""
    rows = [
        {"prompt": "ab " * (i % 6 + 1) + f"{i} the", "target": f" end{i}"} for i in range(count)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def write_gguf(path: Path, *, add_bos: bool = False, pre: str = "smollm", layers: int = 2) -> Path:
    """A small whole GGUF file with random float32 weights and a byte tokenizer."""
    writer = GGUFWriter(path, "llama")
    tokens = [*SPECIALS, *BYTES, "Ġa"]
    writer.add_block_count(layers)
    writer.add_context_length(128)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(48)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(8)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([3] * len(SPECIALS) + [1] * (len(BYTES) + 1))
    writer.add_token_merges(["Ġ a"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(1)
    writer.add_add_bos_token(add_bos)
    rng = np.random.default_rng(0)

    def add(name: str, *shape: int) -> None:
        values = rng.normal(size=shape) / np.sqrt(shape[-1])
        writer.add_tensor(name, values.astype(np.float32))

    add("token_embd.weight", len(tokens), 32)
    add("output.weight", len(tokens), 32)
    writer.add_tensor("output_norm.weight", np.ones(32, np.float32))
    for i in range(layers):
        add(f"blk.{i}.attn_q.weight", 32, 32)
        add(f"blk.{i}.attn_k.weight", 16, 32)
        add(f"blk.{i}.attn_v.weight", 16, 32)
        add(f"blk.{i}.attn_output.weight", 32, 32)
        add(f"blk.{i}.ffn_gate.weight", 48, 32)
        add(f"blk.{i}.ffn_up.weight", 48, 32)
        add(f"blk.{i}.ffn_down.weight", 32, 48)
        writer.add_tensor(f"blk.{i}.attn_norm.weight", np.ones(32, np.float32))
        writer.add_tensor(f"blk.{i}.ffn_norm.weight", np.ones(32, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def gating_map(plus, minus, **facts) -> Map:
    """A map of gating from G⁺ and G⁻, seed × layer × head."""
    plus, minus = np.asarray(plus, float), np.asarray(minus, float)
    dims = ("seed", "layer", "head")
    values = {
        "facilitation": minus,
        "interference": 1 - plus,
        "irrelevance": plus * (1 - minus),
        "gate": plus,
        "gate_plus": plus,
        "gate_minus": minus,
    }
    known = {"model": "m", "task": "t", "method": "gating", "settings": {"replacement": "zero"}}
    return Map.of(
        {name: (dims, array) for name, array in values.items()},
        {**known, **facts},
        {"seed": range(len(plus))},
    )
