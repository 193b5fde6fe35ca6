"""Patching: what must hold exactly, and that a head which carries the difference is found."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.methods import Patching
from headatlas.methods.alignment import align_by_tokens
from headatlas.models.run.sweep import Source, SweepPlan
from headatlas.tasks import Example, Task

EXAMPLES = [
    Example(f"ab {i} cd", " ef", corrupted=f"ab {i + 3} xd", corrupted_target=" gh")
    for i in range(20)
]
TASK = Task.of("t", EXAMPLES)


def rows_of(model, examples=EXAMPLES[:4]):
    clean = tuple(model.encode(e.prompt, e.target) for e in examples)
    corrupted = tuple(model.encode(e.corrupted, e.target) for e in examples)
    return clean, corrupted


def patched(model, rows, sources, gates, positions=None):
    aligned = tuple(align_by_tokens(a, b)[0] for a, b in zip(rows, sources, strict=True))
    plan = SweepPlan(rows, source=Source(sources, aligned), positions=positions)
    return model.sweep(plan).scores(gates).logprob


def test_patching_with_its_own_run_changes_nothing(tiny):
    clean, _ = rows_of(tiny)
    plain = tiny.score(clean).logprob
    scores = patched(tiny, clean, clean, torch.zeros(1, 3, 4))
    torch.testing.assert_close(scores[0], plain, rtol=1e-4, atol=1e-5)


def test_patching_every_head_leaves_only_what_the_token_itself_says(tiny):
    """With all heads of all layers from the clean run, a position differs from the clean run only
    if its own token does: the stream there is embedding + heads + MLPs of that same stream. The
    last position of these prompts has the same token in both, so it is restored exactly."""
    clean, corrupted = rows_of(tiny)
    assert all(
        a.ids[a.target_start - 1] == b.ids[b.target_start - 1]
        for a, b in zip(*rows_of(tiny), strict=True)
    )
    plain, worse = tiny.score(clean).logprob[:, 0], tiny.score(corrupted).logprob[:, 0]
    restored = patched(tiny, corrupted, clean, torch.zeros(1, 3, 4))[0, :, 0]
    torch.testing.assert_close(restored, plain, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(worse, plain, atol=1e-3)
    # the heads of the last layer alone are not everything: MLPs below carry the rest
    gates = torch.ones(1, 3, 4)
    gates[:, -1] = 0
    assert not torch.allclose(patched(tiny, corrupted, clean, gates)[0, :, 0], plain, atol=1e-4)


def test_at_the_last_position_all_heads_restore_the_prediction_too(tiny):
    clean, corrupted = rows_of(tiny)
    last = tuple((row.target_start - 1,) for row in corrupted)
    restored = patched(tiny, corrupted, clean, torch.zeros(1, 3, 4), last)[0, :, 0]
    torch.testing.assert_close(restored, tiny.score(clean).logprob[:, 0], rtol=1e-4, atol=1e-5)


def test_both_directions_are_measured(tiny):
    head_map = Patching(examples=4).run(tiny, TASK)
    assert {"indirect_effect", "effect", "indirect_effect_se"} <= set(head_map.variables)
    facts = head_map.provenance
    assert facts["clean_value"] != facts["corrupted_value"]
    for direction, variables in (("noise", ["effect"]), ("denoise", ["indirect_effect"])):
        one = Patching(examples=4, direction=direction).run(tiny, TASK)
        assert [name for name in one.variables if name.endswith("effect")] == variables
        np.testing.assert_allclose(one[variables[0]], head_map[variables[0]], atol=1e-6)


def test_the_last_position_needs_no_alignment_of_the_rest(tiny, monkeypatch):
    usual = Patching(examples=4).run(tiny, TASK)

    def aligned(row, other):
        raise AssertionError("positions are aligned")

    monkeypatch.setattr("headatlas.methods.patching.align_by_tokens", aligned)
    assert Patching(examples=4).run(tiny, TASK).data.equals(usual.data)


@pytest.mark.parametrize("positions", ["last", "all", "changed"])
def test_examples_that_corruption_does_not_change_are_left_out(tiny, positions):
    examples = [
        Example(f"{i} ab", "cd", corrupted=f"{i} ab" if i % 3 == 0 else f"{i} x") for i in range(60)
    ]
    task = Task.of("same", examples)
    method = Patching(examples=12, positions=positions)
    prompts = method.sample(task, 0)
    same = sum(example.prompt == example.corrupted for example in prompts)
    assert same
    facts = method.run(tiny, task, part={"heads": [[0, 0]]}).provenance
    assert (facts["examples_used"], facts["examples_unchanged"]) == (12 - same, same)
    remark = f"{same} of 12 examples have no position that corruption changes and are left out"
    assert method.check(tiny, task) == [remark]


def test_where_tokens_are_only_inserted_nothing_is_changed(tiny):
    examples = [Example(f"{i} ab", "cd", corrupted=f"{i} ab ab") for i in range(20)]
    with pytest.raises(TaskError, match="no position that corruption changes"):
        Patching(examples=4, positions="changed").run(tiny, Task.of("inserted", examples))
    Patching(examples=4).run(tiny, Task.of("inserted", examples), part={"heads": [[0, 0]]})


def test_a_task_without_corrupted_prompts_is_refused(tiny):
    plain = Task.of("plain", [Example(f"ab {i}", "cd") for i in range(20)])
    with pytest.raises(TaskError, match="'plain' has no corrupted prompts to patch from"):
        Patching().run(tiny, plain)
    with pytest.raises(HeadAtlasError, match="no direction 'up'"):
        Patching(direction="up")


def test_parts_together_are_the_whole(tiny):
    method = Patching(examples=4, positions="changed")
    whole = method.run(tiny, TASK)
    for part in method.parts(tiny.spec):
        layer = part["heads"][0][0]
        piece = method.run(tiny, TASK, part=part)
        for name in ("effect", "indirect_effect"):
            np.testing.assert_allclose(piece[name][0, layer], whole[name][0, layer], atol=1e-6)
