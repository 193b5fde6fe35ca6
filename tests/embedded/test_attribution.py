"""Integrated gradients of the embedded model sum to the effect of removing all heads.

The number of steps and the rule were chosen on `ioi` and `singular-plural`; these tasks were not
looked at before.
"""

from __future__ import annotations

import pytest
import torch

from headatlas.methods import Attribution
from headatlas.methods.measures import Measured
from headatlas.methods.replacement import removal_plan
from headatlas.tasks import load_task

pytestmark = pytest.mark.long

TASKS = {"induction": 4, "present-past": 2, "syntax": 2, "math": 2}
"""Tasks with their numbers of examples: few, as a path takes long."""


def whole_effect(model, task, method):
    """y(all heads at the baseline) − y(model), mean over examples, without a path."""
    measured = Measured.of(model, task, method.sample(task, 0), method.measure)
    sweep = model.sweep(removal_plan(model, task, measured, method.replacement, 0))
    closed = sweep.scores(torch.zeros(1, model.spec.n_layers, model.spec.n_heads))
    return float((measured.values(closed)[0] - measured.values(sweep.plain)).mean())


@pytest.mark.parametrize("replacement", ["mean", "resample"])
@pytest.mark.parametrize("name", TASKS)
def test_effects_sum_to_that_of_removing_all_heads(embedded, name, replacement):
    task = load_task(name).for_tokenizer(embedded.tokenizer)
    method = Attribution.integrated(examples=TASKS[name], replacement=replacement)
    head_map = method.run(embedded, task)
    total, whole = float(head_map["effect"].sum()), whole_effect(embedded, task, method)
    passes = float(head_map["forward_passes"].sum()) / TASKS[name]
    print(f"{name}, {replacement}: {total:.3f} of {whole:.3f}, {passes:.0f} passes per example")
    assert total == pytest.approx(whole, rel=0.02)
    assert head_map.warnings == []
