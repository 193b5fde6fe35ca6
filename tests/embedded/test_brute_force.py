"""Ablation of the embedded model equals brute force: every head, by hand, in plain forward passes.

`tests/models/test_sweep.py` shows the same for sweeps of eight small architectures; here it is the
method on real weights, with the mean and the resampled outputs computed by hand too.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headatlas.methods import Ablation
from headatlas.methods.measures import Measured
from headatlas.methods.replacement import resampled
from headatlas.models.run.mean_output import MEAN_EXAMPLES
from headatlas.tasks import Example, Task

pytestmark = pytest.mark.long

CAPITALS = """France Paris, Italy Rome, Spain Madrid, Germany Berlin, Japan Tokyo, Russia Moscow,
Egypt Cairo, China Beijing, Greece Athens, Austria Vienna, Cuba Havana, Ireland Dublin,
Poland Warsaw, Portugal Lisbon, Norway Oslo, Iraq Baghdad"""
FORMS = ("The capital of {} is", "In {}, the capital is called", "{}'s capital:")
TASK = Task.of(
    "capitals",
    [
        Example(FORMS[number % 3].format(country), f" {capital}")
        for number, (country, capital) in enumerate(
            pair.split() for pair in CAPITALS.replace("\n", " ").split(",")
        )
    ],
)
LAYERS, HEADS, D_HEAD = 30, 9, 64


def projection(model, layer):
    return model.hf.model.layers[layer].self_attn.o_proj


def logprob(model, row):
    """Mean log P of a row's target, in a plain forward pass."""
    with torch.no_grad():
        logprobs = model.hf(torch.tensor([row.ids]), use_cache=False).logits[0].log_softmax(-1)
    return float(torch.stack([logprobs[p - 1, row.ids[p]] for p in row.positions]).mean())


def outputs(model, row):
    """What the output projection of every layer gets: layer × position × (head · d_head)."""
    seen = {}
    handles = [
        projection(model, layer).register_forward_pre_hook(
            lambda module, args, layer=layer: seen.setdefault(layer, args[0][0].clone())
        )
        for layer in range(LAYERS)
    ]
    logprob(model, row)
    for handle in handles:
        handle.remove()
    return torch.stack([seen[layer] for layer in range(LAYERS)])


def without(model, row, layer, head, stand_in):
    """Mean log P of a row's target when `stand_in` (… × d_head) is in the columns of a head."""

    def replace(module, args):
        z = args[0].clone()
        z[0, : len(row.ids) - 1, head * D_HEAD : (head + 1) * D_HEAD] = stand_in
        return (z,)

    handle = projection(model, layer).register_forward_pre_hook(replace)
    try:
        return logprob(model, row)
    finally:
        handle.remove()


def stand_ins(model, measured, replacement):
    """For every row, what replaces the outputs: layer × 1 or position × (head · d_head)."""
    if replacement == "zero":
        return [torch.zeros(LAYERS, 1, HEADS * D_HEAD) for _ in measured.rows]
    if replacement == "mean":
        examples = TASK.prompts("train", 0, MEAN_EXAMPLES)
        every = [outputs(model, model.encode(e.prompt, e.target)) for e in examples]
        mean = torch.cat(every, dim=1).mean(1, keepdim=True)
        return [mean for _ in measured.rows]
    source = resampled(model, TASK, measured, 0)  # which row stands for which, and how aligned
    pairs = zip(source.rows, source.aligned, strict=True)
    return [outputs(model, row)[:, list(places)] for row, places in pairs]


@pytest.mark.parametrize("replacement", ["zero", "mean", "resample"])
def test_every_head_of_the_embedded_model(embedded, replacement):
    method = Ablation(examples=2, replacement=replacement, keep_examples=True)
    effects = method.run(embedded, TASK)["effect_example"].sel(seed=0).to_numpy()
    measured = Measured.of(embedded, TASK, method.sample(TASK, 0), "logprob")
    replacing = stand_ins(embedded, measured, replacement)
    by_hand = np.zeros((2, LAYERS, HEADS))
    for number, (row, stand_in) in enumerate(zip(measured.rows, replacing, strict=True)):
        plain = logprob(embedded, row)
        for layer, head in embedded.spec.heads():
            columns = stand_in[layer, :, head * D_HEAD : (head + 1) * D_HEAD]
            by_hand[number, layer, head] = without(embedded, row, layer, head, columns) - plain
    print(f"{replacement}: largest error {np.abs(effects - by_hand).max():.1e}")
    np.testing.assert_allclose(effects, by_hand, rtol=0, atol=1e-4)
    assert np.abs(by_hand).max() > 0.1
