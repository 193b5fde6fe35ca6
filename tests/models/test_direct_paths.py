"""What heads write directly adds up, with everything else in the stream, to the actual logits."""

from __future__ import annotations

import pytest
import torch

from architectures.small_models import build
from headatlas.errors import ModelError
from headatlas.models.model import Model
from headatlas.models.run.direct_paths import DirectPaths
from headatlas.models.run.frozen_norm import FrozenNorm
from headatlas.models.run.stream import blocks_of
from small_things import byte_tokenizer, tiny_hf

ROWS = [[5, 9, 7, 30, 12, 8, 5, 9], [5, 9, 7], [40, 41, 42, 43]]
RMS, LAYER = "RMSNorm", "LayerNorm"
FAMILIES = {
    "tiny": (RMS, "mlp"),
    "qwen3": (RMS, "mlp"),
    "granite": (RMS, "mlp"),
    "gemma2": (RMS, "post_feedforward_layernorm"),
    "olmo2": (RMS, "post_feedforward_layernorm"),
    "gpt2": (LAYER, "mlp"),
    "gpt_neox": (LAYER, "mlp"),
    "phi": (LAYER, "mlp"),
    "cohere": (LAYER, "mlp"),
}
"""The kind of the final norm, and the module of a block whose output is its second addition."""


def small(family):
    hf = tiny_hf() if family == "tiny" else build(family)
    randomise_norms(hf)
    if family == "granite":  # by default all its constants are 1
        hf.config.residual_multiplier, hf.config.logits_scaling = 0.4, 8.0
        for block in hf.model.layers:
            block.residual_multiplier = 0.4
    return Model(hf, byte_tokenizer(), family)


def randomise_norms(hf):
    """Gains and biases that differ, so that none can be left out unnoticed."""
    generator = torch.Generator().manual_seed(3)
    for parameter in hf.parameters():
        if parameter.ndim == 1:
            parameter.data += 0.3 * torch.randn(parameter.shape, generator=generator)


def run_watched(model, row, second):
    """The stream before the first block, the second additions, and the unembedding's output."""
    seen, handles = {"added": []}, []

    def before(module, args, kwargs):
        seen["start"] = (args[0] if args else kwargs["hidden_states"])[0, -1].clone()

    blocks = blocks_of(model)
    handles.append(blocks[0].register_forward_pre_hook(before, with_kwargs=True))
    for block in blocks:
        module = getattr(block, second)
        handles.append(
            module.register_forward_hook(lambda m, a, out: seen["added"].append(out[0, -1].clone()))
        )
    with torch.no_grad():
        seen["logits"] = model.hf(torch.tensor([row])).logits[0, -1]
    for handle in handles:
        handle.remove()
    return seen


@pytest.mark.parametrize("family", FAMILIES)
def test_heads_and_everything_else_add_up_to_the_logits(family):
    model = small(family)
    kind, second = FAMILIES[family]
    paths = DirectPaths(model)
    lens = paths.unembedding
    assert lens.norm.centres == (kind == LAYER)
    every = list(range(len(lens.weight)))
    factors = {"granite": 1 / 8, "cohere": getattr(model.hf.config, "logit_scale", 1.0)}
    assert lens.factor == pytest.approx(factors.get(family, 1.0), abs=1e-6)
    multiplier = getattr(model.hf.config, "residual_multiplier", 1.0)
    for numbers, states in paths.read(ROWS):
        scale = lens.scale_at(states.stream)
        heads = sum(shares.sum(1) for _, shares in paths.shares(states))  # row d_model
        for i, number in enumerate(numbers):
            seen = run_watched(model, ROWS[number], second)
            others = [seen["start"], *(multiplier * added for added in seen["added"])]
            for layer, path in paths.paths.items():
                projection = model.hf.get_submodule(model.spec.layer(layer).projection)
                if getattr(projection, "bias", None) is not None:
                    output = states.outputs[layer][i : i + 1]
                    bias = projection.bias.detach()[None, None]
                    others.append(path.written(bias, output)[0, 0])
            shares = torch.stack([lens.through_norm(other, scale[i]) for other in others])
            whole = heads[i] + shares.sum(0) + lens.constant
            logits = lens.rows(every) @ whole + lens.offsets(every)
            expected = seen["logits"]
            if cap := getattr(model.hf.config, "final_logit_softcapping", None):
                logits = cap * torch.tanh(logits / cap)
            torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(paths.whole(states)[i], whole, rtol=1e-4, atol=1e-4)
    assert any(shares.norm() > 0.1 for _, shares in paths.shares(states))


def test_a_share_is_the_output_of_one_head_through_its_own_columns():
    model = small("gpt2")
    paths = DirectPaths(model)
    ((_, plain),) = paths.read(ROWS[:1])
    last = model.spec.n_layers - 1
    shares = dict(paths.shares(plain))[last][0]  # head d_model
    projection = model.hf.get_submodule(model.spec.layer(last).projection)
    d_head = model.spec.d_head
    for head in range(model.spec.n_heads):
        own = projection.weight[head * d_head : (head + 1) * d_head]  # Conv1D: input first
        z = model.read(ROWS[:1])[0, last, head, -1]
        expected = paths.unembedding.through_norm(
            z @ own, paths.unembedding.scale_at(plain.stream)[0]
        )
        torch.testing.assert_close(shares[head], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [32, 33])
def test_a_norm_is_measured_whatever_its_class(width):
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(4, width, generator=generator) + 0.5
    parts = torch.randn(3, 4, width, generator=generator)
    parts = torch.cat([parts, (states - parts.sum(0))[None]])
    for norm in (torch.nn.LayerNorm(width), torch.nn.RMSNorm(width)):
        torch.nn.init.normal_(norm.weight, generator=generator)
        if getattr(norm, "bias", None) is not None:
            torch.nn.init.normal_(norm.bias, generator=generator)
        frozen = FrozenNorm.of(norm, torch.empty(0, width), 1e-4)
        assert frozen.centres == isinstance(norm, torch.nn.LayerNorm)
        scale = frozen.scale_at(states, states)
        made = frozen.apply(parts, scale).sum(0) + frozen.bias
        torch.testing.assert_close(made, norm(states).detach(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("other", [torch.nn.Identity(), torch.nn.Linear(32, 32), torch.nn.Tanh()])
def test_what_is_no_norm_is_not_taken_for_one(other):
    assert FrozenNorm.of(other, torch.empty(0, 32), 1e-4) is None


def test_the_largest_logits_are_those_of_the_whole_product(monkeypatch):
    from headatlas.models.run import unembedding

    monkeypatch.setattr(unembedding, "ROWS_AT_A_TIME", 50)
    lens = DirectPaths(small("cohere")).unembedding
    vectors = torch.randn(6, 32, generator=torch.Generator().manual_seed(1))
    values, ids = lens.largest(vectors, 4, 120)
    logits = vectors @ lens.rows(list(range(len(lens.weight)))).T
    expected = logits[:, :120].topk(4)
    assert torch.equal(ids, expected.indices)
    torch.testing.assert_close(values, expected.values)
    torch.testing.assert_close(vectors @ lens.mean_row(), logits.mean(-1))


@pytest.mark.parametrize("family", ["gemma3n_text", "zamba2", "openai-gpt"])
def test_models_without_direct_paths_are_refused(family):
    model = Model(build(family), byte_tokenizer(), "other")
    with pytest.raises(ModelError, match=r"heads of other \(.+\) write directly cannot be told"):
        DirectPaths(model)
