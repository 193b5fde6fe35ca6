"""A sweep equals brute force: one row, one head, one whole pass at a time, changed by hand."""

from __future__ import annotations

import pytest
import torch

from architectures.small_models import build
from headatlas.methods.alignment import align_at_ends
from headatlas.models.edit import Edit
from headatlas.models.model import Model
from headatlas.models.run import resuming
from headatlas.models.run.sweep import Source, SweepPlan
from headatlas.models.tokens import Tokens

FAMILIES = ("llama", "gpt2", "bloom", "gemma2", "gpt_neox", "phi3", "qwen2", "mistral")
GATED_LATER = ("qwen3_next",)
"""Families that multiply head outputs before their projection: it does not see z itself."""


@pytest.fixture(scope="module", params=FAMILIES)
def family(request):
    return Model(build(request.param), None, request.param)


@pytest.fixture(scope="module", params=GATED_LATER)
def gated_family(request):
    return Model(build(request.param), None, request.param)


def rows(vocabulary=100):
    """Rows of several lengths with a shared prefix, with two-token and one-token targets."""
    generator = torch.Generator().manual_seed(5)
    shared = torch.randint(3, vocabulary, (7,), generator=generator).tolist()
    result = []
    for number in range(5):
        own = torch.randint(3, vocabulary, (3 + number,), generator=generator).tolist()
        ids = (*shared, *own)
        result.append(Tokens(ids, len(ids) - 1 - number % 2))
    result.append(Tokens((*result[0].ids[:-1], 50), result[0].target_start))  # another ending
    return result


def others():
    """The rows that outputs are taken from: shorter, with another prefix."""
    return [Tokens((9, 8, *row.ids[4:]), row.target_start - 2) for row in reversed(rows())]


def columns(spec, layer, head):
    size = spec.layers[layer].d_head
    return slice(head * size, (head + 1) * size)


def by_hand(model, row, layer, head, replace):
    """Mean log P of a target when `replace(position)` stands in the columns of a head."""
    spec = model.spec
    projection = model.hf.get_submodule(spec.layers[layer].projection)

    def hook(module, args):
        z = args[0].clone()
        for position in range(z.shape[1]):
            new = replace(position)
            if new is not None:
                z[:, position, columns(spec, layer, head)] = new
        return (z, *args[1:])

    handle = projection.register_forward_pre_hook(hook)
    try:
        logits = model.hf(torch.tensor([row.ids]), use_cache=False).logits[0]
    finally:
        handle.remove()
    logprobs = logits.log_softmax(-1)
    return torch.stack([logprobs[p - 1, row.ids[p]] for p in row.positions]).mean()


def seen_by_projection(model, row, layer):
    """The head outputs of a whole pass over one row: position × (head · d_head)."""
    seen = []
    projection = model.hf.get_submodule(model.spec.layers[layer].projection)
    handle = projection.register_forward_pre_hook(lambda module, args: seen.append(args[0][0]))
    try:
        model.hf(torch.tensor([row.ids]), use_cache=False)
    finally:
        handle.remove()
    return seen[0]


def single_gates(spec):
    gates = torch.ones(len(spec.heads()), spec.n_layers, spec.n_heads)
    for number, (layer, head) in enumerate(spec.heads()):
        gates[number, layer, head] = 0
    return gates


def compare(model, plan, replacement_of):
    """Every head removed alone; `replacement_of(row number, layer, head)` gives `replace`."""
    scores = model.sweep(plan).scores(single_gates(model.spec)).mean()
    with torch.no_grad():
        for number, (layer, head) in enumerate(model.spec.heads()):
            for i, row in enumerate(plan.rows):
                replace = replacement_of(i, layer, head)
                wanted = by_hand(model, row, layer, head, replace)
                torch.testing.assert_close(scores[number, i], wanted, rtol=1e-4, atol=1e-4)


def test_zero_equals_columns_set_to_zero(family):
    compare(family, SweepPlan(tuple(rows())), lambda i, layer, head: lambda position: 0.0)


def test_zero_equals_columns_set_to_zero_where_outputs_are_gated_later(gated_family):
    test_zero_equals_columns_set_to_zero(gated_family)


def test_mean_equals_vectors_put_there(family):
    spec = family.spec
    vectors = torch.randn(
        spec.n_layers, spec.n_heads, spec.d_head, generator=torch.Generator().manual_seed(1)
    )

    def replacement(i, layer, head):
        return lambda position: vectors[layer, head, : spec.layers[layer].d_head]

    compare(family, SweepPlan(tuple(rows()), vectors=vectors), replacement)


@pytest.mark.parametrize("where", ["all", "last"])
def test_resample_equals_outputs_of_other_rows_put_there(family, where):
    own, partners = rows(), others()
    aligned = align_at_ends(own, partners)
    positions = None
    if where == "last":
        positions = tuple(tuple(range(row.target_start - 1, len(row) - 1)) for row in own)
    with torch.no_grad():
        z = {
            (i, layer): seen_by_projection(family, partners[i], layer)
            for i in range(len(own))
            for layer in range(family.spec.n_layers)
        }

    def replacement(i, layer, head):
        def replace(position):
            if position >= len(aligned[i]) or (positions and position not in positions[i]):
                return None
            return z[i, layer][aligned[i][position], columns(family.spec, layer, head)]

        return replace

    plan = SweepPlan(tuple(own), source=Source(tuple(partners), aligned), positions=positions)
    compare(family, plan, replacement)


def test_plain_scores_are_those_without_an_edit(family):
    sweep = family.sweep(SweepPlan(tuple(rows())))
    torch.testing.assert_close(sweep.plain.mean(), family.score(rows()).mean())


def test_what_is_kept_is_bounded_and_changes_nothing(tiny, monkeypatch):
    gates = single_gates(tiny.spec)
    plan = SweepPlan(tuple(rows(vocabulary=90)))
    whole = tiny.sweep(plan).scores(gates).logprob
    monkeypatch.setattr(resuming, "MOST_BYTES", 1)
    other = SweepPlan(plan.rows, positions=tuple(tuple(range(len(row))) for row in plan.rows))
    sweep = tiny.sweep(other)
    torch.testing.assert_close(sweep.scores(gates).logprob, whole)
    assert list(sweep._parts[0].stream._states) == [0]


def test_a_resumed_pass_skips_the_blocks_below(tiny):
    sweep = tiny.sweep(SweepPlan(tuple(rows(vocabulary=90))))
    _ = sweep.plain
    ran = []
    handles = [
        block.mlp.register_forward_hook(lambda *_, number=number: ran.append(number))
        for number, block in enumerate(tiny.hf.model.layers)
    ]
    gates = torch.ones(2, 3, 4)
    gates[:, 1, 0] = 0
    sweep.scores(gates)
    for handle in handles:
        handle.remove()
    assert ran == [1, 2]
    assert "forward" not in vars(tiny.hf.model.layers[0])


def test_a_model_whose_blocks_do_more_than_the_stream_shows_runs_whole_passes():
    model = Model(build("llama"), None, "llama")
    assert model.resumes
    last, memory = model.hf.model.layers[-1], {}

    def remember(module, args, output):
        memory["seen"] = memory.get("seen", 0) + 1

    def depend(module, args, output):
        return output + memory.pop("seen", 0)

    model.hf.model.layers[0].mlp.register_forward_hook(remember)
    last.mlp.register_forward_hook(depend)
    del model.__dict__["resumes"]
    assert not model.resumes
    gates = single_gates(model.spec)
    scores = model.sweep(SweepPlan(tuple(rows()))).scores(gates).mean()
    for gate, own in zip(gates, scores, strict=True):
        torch.testing.assert_close(own, model.score(rows(), Edit(gate)).mean())
