"""Attribution: gradients of gates, and integrated gradients that explain the whole difference."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from headatlas.checks.yardstick.cost import forward_passes
from headatlas.errors import HeadAtlasError
from headatlas.maps import combine
from headatlas.methods import Attribution
from headatlas.methods.measures import Measured
from headatlas.methods.replacement import removal_plan
from headatlas.models.edit import Edit
from headatlas.models.run.mean_output import MEAN_EXAMPLES
from headatlas.tasks import Example, Task

TASK = Task.of("t", [Example(f"{'ab ' * (i % 4 + 1)}{i}", "cd") for i in range(20)])


def whole_effect(model, method, seed=0):
    """y(all heads at the baseline) − y(model), mean over examples."""
    measured = Measured.of(
        model, TASK, TASK.prompts("train", seed, method.examples), method.measure
    )
    sweep = model.sweep(removal_plan(model, TASK, measured, method.replacement, seed))
    closed = measured.values(sweep.scores(torch.zeros(1, model.spec.n_layers, model.spec.n_heads)))
    return float((closed[0] - measured.values(sweep.plain)).mean())


@pytest.mark.parametrize("replacement", ["zero", "mean", "resample"])
@pytest.mark.parametrize("measure", ["logprob", "probability"])
def test_integrated_gradients_sum_to_the_whole_difference(tiny, replacement, measure):
    method = Attribution.integrated(examples=4, replacement=replacement, measure=measure)
    head_map = method.run(tiny, TASK)
    assert float(head_map["effect"].sum()) == pytest.approx(whole_effect(tiny, method), rel=0.02)
    assert head_map.provenance["unexplained_share"] < 0.02
    assert float(head_map["unexplained_by_example"][0]) < 0.02
    assert head_map.warnings == []


def test_a_path_that_is_too_short_is_a_warning_of_every_seed(tiny, monkeypatch):
    monkeypatch.setattr("headatlas.maps.completeness.MAX_UNEXPLAINED", 0.0)
    method = Attribution(examples=4, steps=5, replacement="zero")
    both = combine([method.run(tiny, TASK, seed) for seed in range(2)])
    assert both["unexplained_share"].dims == ("seed",)
    assert "use more steps" in both.warnings[0]
    assert Attribution(examples=4).run(tiny, TASK).warnings == []


def test_what_is_unexplained_of_an_example_does_not_cancel(tiny):
    method = Attribution(examples=4, steps=5, replacement="zero", keep_examples=True)
    head_map = method.run(tiny, TASK)
    one_by_one = head_map["effect_example"].sum(["layer", "head"]).to_numpy()[:, 0]
    measured = Measured.of(tiny, TASK, TASK.prompts("train", 0, 4), "logprob")
    sweep = tiny.sweep(removal_plan(tiny, TASK, measured, "zero", 0))
    closed = measured.values(sweep.scores(torch.zeros(1, 3, 4)))[0]
    wanted = (closed - measured.values(sweep.plain)).numpy()
    error = np.abs(one_by_one - wanted).sum() / np.abs(wanted).sum()
    assert float(head_map["unexplained_by_example"][0]) == pytest.approx(error, rel=1e-3)
    assert error > float(head_map["unexplained_share"][0])


def test_examples_stop_when_they_are_explained_and_only_what_was_used_counts(tiny):
    method = Attribution.integrated(examples=4, replacement="zero")
    scored = []

    class Counting:
        def __getattr__(self, name):
            return getattr(tiny, name)

        def score(self, rows, edit):
            scored.append(len(rows))
            return tiny.score(rows, edit)

    both = combine([method.run(Counting(), TASK, seed) for seed in range(2)])
    assert 2 * 2 * 4 * 5 <= 2 * sum(scored) < 2 * method.forward_passes(tiny, 4)
    assert len(set(scored)) > 1
    assert forward_passes(both, tiny) == 2 * sum(scored)


def test_reading_what_replaces_heads_takes_passes_too(tiny):
    for replacement, read in (("zero", 0), ("mean", MEAN_EXAMPLES), ("resample", 4)):
        plain = Attribution(examples=4, replacement=replacement).run(tiny, TASK)
        assert forward_passes(plain, tiny) == 8 + read
        path = Attribution.integrated(examples=4, replacement=replacement, steps=5)
        assert forward_passes(path.run(tiny, TASK), tiny) == 5 * 8 + read


def test_every_answer_that_is_compared_takes_a_pass(tiny):
    examples = [Example(f"{i} ab a", "b", choices=("b", "c", "d")) for i in range(20)]
    task = Task.of("choices", examples)
    settings = {"examples": 4, "replacement": "zero", "measure": "difference"}
    plain = Attribution(**settings).run(tiny, task)
    assert forward_passes(plain, tiny) == 2 * 4 * 3
    path = Attribution.integrated(**settings, steps=5).run(tiny, task)
    assert forward_passes(path, tiny) == 5 * 2 * 4 * 3
    without = {k: fact for k, fact in plain.provenance.items() if k != "rows_used"}
    assert math.isnan(forward_passes(replace(plain, provenance=without), tiny))


def test_one_step_is_the_gradient_of_the_gate(tiny):
    method = Attribution(examples=4, steps=1, replacement="zero")
    head_map = method.run(tiny, TASK)
    rows = [tiny.encode(e.prompt, e.target) for e in TASK.prompts("train", 0, 4)]

    def value(gate):
        with torch.no_grad():
            return float(tiny.score(rows, Edit(gate=gate)).mean().double().mean())

    for layer, head in tiny.spec.heads():
        up, down = torch.ones(3, 4), torch.ones(3, 4)
        up[layer, head], down[layer, head] = 1.05, 0.95
        slope = (value(up) - value(down)) / 0.1
        effect = float(head_map["effect"].sel(seed=0, layer=layer, head=head))
        assert effect == pytest.approx(-slope, rel=0.02, abs=2e-5)


def test_effects_of_examples_do_not_depend_on_their_portion(tiny, monkeypatch):
    method = Attribution(examples=4, replacement="resample", keep_examples=True)
    whole = method.run(tiny, TASK)
    monkeypatch.setattr("headatlas.methods.attribution.TOKENS_WITH_GRADIENT", 1)
    alone = method.run(tiny, TASK)
    assert whole["effect_example"].dims == ("example", "seed", "layer", "head")
    np.testing.assert_allclose(whole["effect_example"], alone["effect_example"], atol=1e-6)
    np.testing.assert_allclose(whole["effect"], whole["effect_example"].mean("example"))


def test_progress_is_reported_once_per_step(tiny):
    told = []
    method = Attribution(examples=4, steps=6)
    method.run(tiny, TASK, report=told.append)
    assert len(told) == method.reports({}) == 6


def test_settings_that_make_no_sense():
    with pytest.raises(HeadAtlasError, match="accuracy has no gradient"):
        Attribution(measure="accuracy")
    with pytest.raises(HeadAtlasError, match=r"takes 1 step .* at least 5"):
        Attribution(steps=2)
    with pytest.raises(HeadAtlasError, match="integrated gradients take at least 5 steps, not 1"):
        Attribution.integrated(steps=1)
    assert Attribution.integrated(steps=48) == Attribution(steps=48)
    assert Attribution().steps == 1
