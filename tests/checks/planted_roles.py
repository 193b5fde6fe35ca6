"""A tiny model whose heads have known roles: strong ones, saboteurs, and nearly silent ones."""

from __future__ import annotations

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from headatlas.models.edit import Edit
from headatlas.models.model import Model
from headatlas.tasks import Example, Task
from small_things import BYTES, SPECIALS, byte_tokenizer, gating_map

LAYERS, HEADS, D_HEAD, WIDTH = 6, 8, 8, 32
SHAPE = (LAYERS, HEADS)
STRONG = tuple((layer, 0) for layer in range(LAYERS))
SABOTEURS = tuple((layer, 1) for layer in range(LAYERS))
SILENT = tuple((layer, head) for layer in range(LAYERS) for head in range(2, HEADS))
QUIET, LOUD = 0.02, 1.5
"""How much silent heads and saboteurs write, as shares of what strong heads do."""


def planted_model(loud: float = LOUD, quiet: float = QUIET) -> Model:
    """Every layer has one strong head, one saboteur and six that write next to nothing."""
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=WIDTH,
        intermediate_size=48,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=D_HEAD,
        vocab_size=len(BYTES) + len(SPECIALS),
        max_position_embeddings=256,
        bos_token_id=0,
        eos_token_id=1,
    )
    hf = LlamaForCausalLM(config)
    for parameter in hf.parameters():
        if parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=parameter.shape[-1] ** -0.5)
    for layer in hf.model.layers:
        columns = layer.self_attn.o_proj.weight.data.view(WIDTH, HEADS, D_HEAD)
        columns *= 3.0
        columns[:, 1] *= loud
        columns[:, 2:] *= quiet
        layer.mlp.down_proj.weight.data *= 0.2
    hf.lm_head.weight.data *= 2.0
    return Model(hf.eval(), byte_tokenizer(), "planted")


def without_saboteurs() -> torch.Tensor:
    """The gates of the model at its best."""
    gate = torch.ones(SHAPE)
    gate[:, 1] = 0.0
    return gate


def planted_task(model: Model, gate: torch.Tensor | None = None, count: int = 120) -> Task:
    """The right answer is the letter that the model gives under a gate, or without saboteurs."""
    gate = without_saboteurs() if gate is None else gate
    prompts = [f"{1000 + number * 7919 % 9000} x" for number in range(20 * count)]
    ids = torch.tensor([model.encode(prompt, "x").ids[:-1] for prompt in prompts])
    with torch.no_grad(), model.editing(Edit(gate=gate)):
        letters = [model.tokenizer.decode([int(i)]) for i in model.hf(ids).logits[:, -1].argmax(-1)]
    examples = [
        Example(prompt, letter)
        for prompt, letter in zip(prompts, letters, strict=True)
        if len(letter) == 1 and letter.isascii() and letter.isprintable()
    ]
    assert len(examples) >= count, "the model answers in no readable letters"
    return Task.of("planted", examples[:count])


def map_of(facilitating, interfering, irrelevant, seeds=1, rng=None):
    """A map that gives roles to heads; heads of no role are undecided. Scores within a role are
    in random order."""
    rng = rng or np.random.default_rng(0)
    plus, minus = np.full((seeds, *SHAPE), 0.6), np.full((seeds, *SHAPE), 0.4)
    for heads, open_, kept in ((facilitating, 1, 1), (interfering, 0, 0), (irrelevant, 1, 0)):
        for layer, head in heads:
            noise = 0.1 * rng.random((2, seeds))
            plus[:, layer, head] = abs(open_ - noise[0])
            minus[:, layer, head] = abs(kept - noise[1])
    return gating_map(plus, minus)


SHARES = (0.45, 0.05, 0.5)
"""Shares of facilitating, interfering and irrelevant heads in maps of random roles."""


def random_map(number, seeds=1):
    """Every head has a random role; every seed has roles of its own."""
    rng = np.random.default_rng(number)
    maps = []
    for _ in range(seeds):
        roles = rng.choice(3, SHAPE, p=SHARES)
        heads = [[tuple(place) for place in np.argwhere(roles == role)] for role in range(3)]
        maps.append(map_of(*heads, rng=rng))
    plus, minus = (
        np.concatenate([each[name].to_numpy() for each in maps])
        for name in ("gate_plus", "gate_minus")
    )
    return gating_map(plus, minus)
