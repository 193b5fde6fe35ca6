"""Variants of the real model in which the part of some heads is known, because it was planted."""

from __future__ import annotations

import copy

import numpy as np
import torch

from headatlas.maps import combine
from headatlas.methods import Gating
from headatlas.models.edit import Edit
from headatlas.models.model import Model

DEAD = ((3, 4), (9, 0), (17, 8), (22, 2), (27, 6))
SABOTEURS = ((12, 2), (16, 5), (24, 4), (25, 1))
CRUCIAL = ((0, 6), (1, 3), (8, 1), (20, 5))
"""The four heads whose removal hurts singular-plural most, by the model's ablation map."""

SEEDS = range(3)
D_HEAD = 64
NOISE = 7.0
"""Spread of a saboteur's output projection, in spreads of the weights. Each saboteur harms also
where the others are gone: with a spread of 5 one of them did no harm once the others were closed,
and its gate rightly stayed half open."""


def plant(embedded, dead=DEAD, saboteurs=(), noise=NOISE):
    """The model with heads that project nothing, and heads that project noise."""
    hf = copy.deepcopy(embedded.hf)
    generator = torch.Generator().manual_seed(0)
    for layer, head in (*dead, *saboteurs):
        weight = hf.model.layers[layer].self_attn.o_proj.weight.data
        columns = weight[:, head * D_HEAD : (head + 1) * D_HEAD]
        spread = weight.std()
        columns.zero_()
        if (layer, head) in saboteurs:
            columns.copy_(torch.randn(columns.shape, generator=generator) * noise * spread)
    return Model(hf, embedded.tokenizer, "planted")


def gate(model, task):
    """The map of all seeds, with the default schedule."""
    return combine([Gating().run(model, task, seed) for seed in SEEDS])


def score_without(model, task, *heads):
    """Mean log-probability of test targets with some heads removed."""
    rows = [model.encode(each.prompt, each.target) for each in task.prompts("test", 0, 32)]
    with torch.no_grad():
        return float(model.score(rows, Edit.ablate(model.spec, heads)).mean().mean())


def scores_of(head_map, variable, heads):
    """The numbers of some heads: seed × head."""
    return np.stack([head_map[variable].sel(layer=i, head=j).to_numpy() for i, j in heads], axis=-1)


def check_dead_heads(head_map):
    """In every seed dead heads go where they are pushed, and are never called anything else.

    They are not alone: about half of the living heads matter as little, and gates that reach their
    end cannot be ranked beyond it.
    """
    assert (scores_of(head_map, "irrelevance", DEAD) >= 0.9).all()
    assert (head_map["irrelevance"] >= 0.9).mean() < 0.7
    for variable in ("facilitation", "interference"):
        assert (scores_of(head_map, variable, DEAD) < 0.5).all()
