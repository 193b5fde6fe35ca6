"""Gating on the real model, with heads whose part is known because it was planted."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from headatlas.checks.held_out import held_out
from headatlas.methods import Gating
from headatlas.models.edit import remove_heads
from headatlas.models.model import Model
from headatlas.tasks import load_task

DEAD = ((3, 4), (9, 0), (17, 8), (22, 2), (27, 6))
SABOTEURS = ((10, 3), (11, 6), (20, 4), (23, 5))
CRUCIAL = ((0, 6), (1, 3), (8, 1), (20, 5))
"""The four heads whose removal hurts the undamaged model most, by its ablation map."""

D_HEAD = 64
NOISE = 5.0
"""Spread of a saboteur's output projection, in spreads of the weights: it harms, and no more."""

METHOD = Gating(seeds=3)


def columns(hf, layer, head):
    weight = hf.model.layers[layer].self_attn.o_proj.weight
    return weight.data[:, head * D_HEAD : (head + 1) * D_HEAD], weight.data.std()


@pytest.fixture(scope="module")
def planted(embedded):
    hf = copy.deepcopy(embedded.hf)
    generator = torch.Generator().manual_seed(0)
    for layer, head in DEAD:
        columns(hf, layer, head)[0].zero_()
    for layer, head in SABOTEURS:
        weight, spread = columns(hf, layer, head)
        weight.copy_(torch.randn(weight.shape, generator=generator) * NOISE * spread)
    return Model(hf, embedded.tokenizer, "planted")


@pytest.fixture(scope="module")
def task():
    return load_task("singular-plural")


@pytest.fixture(scope="module")
def gates(planted, task):
    return METHOD.run(planted, task)


def pairs(drawn, variable, heads):
    """The numbers of some heads: seed × head."""
    return np.stack([drawn[variable].sel(layer=i, head=j).to_numpy() for i, j in heads], axis=-1)


def test_what_was_planted_is_so(planted, embedded, task):
    """Saboteurs do harm, together and alone; without them, the task needs every crucial head."""
    rows = [planted.encode(each.prompt, each.target) for each in task.ask("test", 0, 32)]

    def score(model, *heads):
        with torch.no_grad():
            return float(model.score(rows, remove_heads(model.spec, heads)).mean().mean())

    assert score(planted) < score(embedded) - 1
    for saboteur in SABOTEURS:
        others = [head for head in SABOTEURS if head != saboteur]
        assert score(planted, saboteur) > score(planted) + 0.1, saboteur
        assert score(planted, *SABOTEURS) > score(planted, *others) + 0.1, saboteur
    for head in CRUCIAL:
        assert score(planted, *SABOTEURS, head) < score(planted, *SABOTEURS) - 0.1, head


def test_dead_heads_are_irrelevant_and_nothing_else(gates):
    scores = gates["irrelevance"].to_numpy()  # seed layer head
    dead = pairs(gates, "irrelevance", DEAD).ravel()
    mask = np.ones(scores.shape[1:], bool)
    for head in DEAD:
        mask[head] = False
    others = scores[:, mask].ravel()
    auroc = np.mean((dead[:, None] > others[None]) + 0.5 * (dead[:, None] == others[None]))
    assert auroc >= 0.99
    for variable in ("facilitation", "interference"):
        assert (pairs(gates, variable, DEAD) < 0.5).all()


def test_saboteurs_interfere(gates):
    assert (pairs(gates, "interference", SABOTEURS) >= 0.5).mean() >= 0.9
    assert (pairs(gates, "facilitation", SABOTEURS) < 0.5).all()


def test_crucial_heads_facilitate(gates):
    assert (pairs(gates, "facilitation", CRUCIAL) >= 0.5).mean() >= 0.9


def test_gates_mend_the_damaged_model_on_test_questions(planted, task, gates):
    rows = {row.gates: row for row in held_out(planted, task, gates, limit=32)}
    assert rows["G⁺"].high < -1
    assert rows["G⁺"].better == 3
