"""Gating: its equations, its schedule, and that seeds share nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from headatlas.errors import DivergedError, HeadAtlasError
from headatlas.maps import combine
from headatlas.methods import Gating
from headatlas.methods.encoding import EncodedBatches
from headatlas.methods.fitting import FitSettings, first_theta, fit_gates, snapshot_steps
from headatlas.models.edit import Edit
from headatlas.models.model import Model
from headatlas.models.run.mean_output import mean_outputs
from headatlas.tasks import Example, Task
from small_things import byte_tokenizer, tiny_hf

SHORT = Gating(steps=6, batch_size=4)


@pytest.fixture(scope="module")
def task():
    return Task.of("t", [Example(f"ab {i} " * (i % 3 + 1), "cd") for i in range(20)])


@pytest.fixture(scope="module")
def half_dead():
    """The tiny model with two heads that project nothing."""
    hf = tiny_hf()
    for layer, head in ((0, 1), (2, 3)):
        hf.model.layers[layer].self_attn.o_proj.weight.data[:, head * 16 : head * 16 + 16] = 0
    return Model(hf, byte_tokenizer(), "half dead")


def test_the_published_schedule_is_the_papers():
    published = Gating.published()
    fits = published.fits()
    assert [fit.steps for fit in fits.values()] == [500, 500, 500]
    assert published.batch_size == 64
    assert [fit.learning_rate for fit in fits.values()] == [(0.1, 0.01), (0.5, 0.1), (0.5, 0.1)]
    assert [fit.regularization for fit in fits.values()] == [0.0, 0.1, -0.1]
    assert {fit.clamp for fit in fits.values()} == {4.0}
    assert {fit.beta2 for fit in fits.values()} == {0.999}
    assert {fit.patience for fit in fits.values()} == {None}
    assert {fit.regularization_at(step) for fit in fits.values() for step in (0, 250, 499)} == {
        0.0,
        0.1,
        -0.1,
    }
    assert [fit.steps for fit in Gating.published(steps=7).fits().values()] == [7, 7, 7]


def test_every_gate_starts_where_it_can_be_pushed(tiny, task):
    """A logit beyond the clamp has no gradient of the penalty."""
    for seed in range(50):
        theta = first_theta(tiny.spec, task.questions_hash, seed, *Gating().initial)
        assert bool((theta.abs() < Gating().clamp).all())
    assert Gating.published().initial == (0, 1)


def test_the_push_is_strong_at_first_and_then_what_was_asked_for():
    free, plus, minus = Gating(steps=50, regularization=0.2, annealing=(10, 5)).fits().values()
    assert free.steps == 33
    assert free.regularization_at(0) == 0
    np.testing.assert_allclose(plus.regularization_at(0), 2.0)
    np.testing.assert_allclose(plus.regularization_at(15), 0.2 * 10**0.5)
    np.testing.assert_allclose([plus.regularization_at(step) for step in (30, 49)], 0.2)
    np.testing.assert_allclose(minus.regularization_at(0), -1.0)


def test_scores_come_from_the_gates(tiny, task):
    gates = SHORT.run(tiny, task, seed=0)
    plus, minus = gates["gate_plus"], gates["gate_minus"]
    np.testing.assert_allclose(gates["facilitation"], minus)
    np.testing.assert_allclose(gates["interference"], 1 - plus)
    np.testing.assert_allclose(gates["irrelevance"], plus * (1 - minus))


def test_heads_without_a_say_go_where_they_are_pushed(half_dead, task):
    gates = Gating(steps=30, batch_size=4).run(half_dead, task, seed=0)
    for layer, head in ((0, 1), (2, 3)):
        at = {"seed": 0, "layer": layer, "head": head}
        assert float(gates["gate_plus"].sel(at)) > 0.95
        assert float(gates["gate_minus"].sel(at)) < 0.05
        assert str(gates.roles("any").sel(layer=layer, head=head).item()) == "irrelevant"


def test_both_pushes_start_from_the_free_gates(tiny, task):
    barely = Gating(steps=1, free_steps=6, batch_size=4, pushed_learning_rate=(1e-6, 1e-6))
    gates = barely.run(tiny, task, seed=0)
    np.testing.assert_allclose(gates["gate_plus"], gates["gate"], atol=1e-5)
    np.testing.assert_allclose(gates["gate_minus"], gates["gate"], atol=1e-5)


def test_seeds_share_nothing(tiny, task):
    together = combine([SHORT.run(tiny, task, seed=seed) for seed in range(3)])
    alone = SHORT.run(tiny, task, seed=2)
    assert together["seed"].to_numpy().tolist() == [0, 1, 2]
    assert SHORT.run(tiny, task)["seed"].to_numpy().tolist() == [0]
    for name in alone.variables:
        np.testing.assert_array_equal(together[name].sel(seed=2), alone[name].sel(seed=2))
    np.testing.assert_array_equal(together.data["loss"].sel(seed=2), alone.data["loss"].sel(seed=2))
    first = together["gate_path"].sel(stage="free").isel(point=0)
    assert not np.allclose(first.sel(seed=0), first.sel(seed=1))


def test_the_path_of_gates_and_losses_is_kept(tiny, task):
    gates = Gating(steps=5, free_steps=60, batch_size=4).run(tiny, task, seed=0)
    data = gates.data.sel(seed=0)
    assert data["loss"].shape == (3, 60)
    assert np.isfinite(data["loss"].sel(stage="free")).all()
    assert int(np.isfinite(data["loss"].sel(stage="plus")).sum()) == 5
    for stage, name in (("free", "gate"), ("plus", "gate_plus"), ("minus", "gate_minus")):
        path = data["gate_path"].sel(stage=stage)
        last = path.isel(point=int((data["point_step"].sel(stage=stage) >= 0).sum()) - 1)
        np.testing.assert_allclose(last, data[name], atol=1e-6)
    starts = data["gate_path"].isel(point=0)
    assert int(data["point_step"].max()) == 60
    assert (data["point_step"].isel(point=0) == 0).all()
    np.testing.assert_allclose(starts.sel(stage="minus"), data["gate"], atol=1e-6)
    assert data["loss"].sel(stage="free")[-10:].mean() < data["loss"].sel(stage="free")[:10].mean()


def test_the_loss_is_the_mean_over_a_targets_tokens_then_over_examples(tiny):
    """Targets of one and of four tokens weigh the same; computed again token by token."""
    task = Task.of("t", [Example(f"ab {i} ", "c" if i % 2 else "cdef") for i in range(40)])
    head_map = Gating(steps=1, batch_size=6).run(tiny, task, seed=3)
    first = torch.tensor(head_map["gate_path"].sel(seed=3, stage="free").isel(point=0).to_numpy())
    losses = []
    for example in next(task.batches("train", 6, 3)):
        row = tiny.encode(example.prompt, example.target)
        with torch.no_grad(), tiny.editing(Edit(gate=first.float())):
            logprobs = tiny.hf(torch.tensor([row.ids])).logits[0].log_softmax(-1)
        places = range(row.target_start, len(row))
        losses.append(-np.mean([float(logprobs[at - 1, row.ids[at]]) for at in places]))
    assert len({len(example.target) for example in next(task.batches("train", 6, 3))}) == 2
    assert float(head_map["loss"].sel(seed=3, stage="free")[0]) == pytest.approx(
        np.mean(losses), rel=1e-4
    )


def test_the_regularization_pushes_every_head_that_exists_and_none_past_the_clamp():
    theta = torch.zeros(2, 3)
    exists = torch.tensor([[True, True, True], [True, True, False]])
    settings = FitSettings(
        steps=1, learning_rate=(1e-3, 1e-3), regularization=0.1, max_grad_norm=None
    )

    def loss(gate, step):
        return 0.0 * gate.sum()

    found = fit_gates(theta, exists, loss, settings).theta
    assert (found[exists] > 0).all()
    assert found[~exists].tolist() == [0.0]
    beyond = fit_gates(torch.full((2, 3), 5.0), exists, loss, settings).theta
    assert torch.equal(beyond, torch.full((2, 3), 5.0))  # past the clamp nothing pushes


def test_the_learning_rate_falls_linearly():
    settings = FitSettings(steps=500, learning_rate=(0.5, 0.1), regularization=0.0)
    assert settings.learning_rate_at(0) == 0.5
    assert math.isclose(settings.learning_rate_at(250), 0.3)
    assert math.isclose(settings.learning_rate_at(500), 0.1)
    assert snapshot_steps(500)[-1] == 500
    assert len(snapshot_steps(500)) == 40
    assert snapshot_steps(3).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("beta2", [0.5, 0.999])
def test_beta2_is_adams(beta2):
    """A gradient of 1, then none: the second step is known by hand."""
    settings = FitSettings(
        steps=2, learning_rate=(1e-3, 1e-3), regularization=0.0, max_grad_norm=None, beta2=beta2
    )

    def loss(gate, step):
        return 4 * gate.sum() if step == 0 else 0.0 * gate.sum()

    found = fit_gates(torch.zeros(1, 1), torch.ones(1, 1, dtype=torch.bool), loss, settings).theta
    second = (0.09 / 0.19) / math.sqrt(beta2 / (1 + beta2))
    assert float(found) == pytest.approx(-1e-3 * (1 + second), rel=1e-4)


@pytest.mark.parametrize(("annealing", "updates"), [((1, 1), 5), ((3, 10), 12)])
def test_a_fit_ends_once_no_gate_has_crossed_for_the_patience(tiny, task, annealing, updates):
    """Not before λ has reached its own value."""
    patient = Gating(
        steps=20,
        batch_size=4,
        patience=5,
        pushed_learning_rate=(1e-4, 1e-4),
        annealing=annealing,
    )
    gates = patient.run(tiny, task, seed=0)
    counts = np.isfinite(gates.data["loss"].sel(seed=0)).sum("step")
    assert int(counts.sel(stage="plus")) == updates
    last = gates["gate_path"].sel(stage="plus").isel(point=-1)
    np.testing.assert_allclose(last, gates["gate_plus"], atol=1e-6)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_stops_the_seed_and_keeps_the_others(
    tiny, task, tmp_path, monkeypatch, bad
):
    from headatlas.runs.engine import Outcome, run_units
    from headatlas.runs.store import Store
    from headatlas.runs.unit import cut

    real = Gating.run

    def spoiled(self, model, task, seed, **options):
        if seed == 1:
            monkeypatch.setattr(tiny, "score", lambda *a, **k: _Scores(bad))
        try:
            return real(self, model, task, seed, **options)
        finally:
            monkeypatch.undo()
            monkeypatch.setattr(Gating, "run", spoiled)

    monkeypatch.setattr(Gating, "run", spoiled)
    store = Store(tmp_path)
    store.open()
    units = cut(tiny, task, SHORT, range(3))
    steps, outcome = [], Outcome()
    run_units(units, tiny, task, SHORT, store, lambda n, words: steps.append(n), outcome)
    (reason,) = outcome.failed.values()
    assert "seed 1, fit of G:" in reason
    assert "not a number at update 1" in reason
    assert len(outcome.computed) == 2
    assert sum(steps) == 3 * SHORT.reports({})
    assert [store.load(unit) is not None for unit in units] == [True, False, True]


class _Scores:
    def __init__(self, value):
        self.value = torch.tensor([value], requires_grad=True)

    def mean(self):
        return self.value


def test_a_loss_that_runs_away_stops_the_fit():
    def loss(gate, step):
        return gate.sum() * 0 + step

    with pytest.raises(DivergedError, match=r"rose from 4.5 to 1\d.5 nats by update"):
        fit_gates(torch.zeros(1, 2), torch.ones(1, 2) > 0, loss, FitSettings(100, (0.1, 0.1), 0.0))


def test_the_mean_replaces_a_closed_head(tiny, task):
    rows = [tiny.encode(each.prompt, each.target) for each in task.prompts("train", 0, 12)]
    means = mean_outputs(tiny, rows)
    z = [tiny.read([row.ids])[0] for row in rows]  # layer head position d_head
    wanted = torch.cat(z, dim=2).mean(2)
    torch.testing.assert_close(means, wanted, rtol=1e-4, atol=1e-5)
    gates = Gating(steps=6, batch_size=4, replacement="mean").run(tiny, task, seed=0)
    other = SHORT.run(tiny, task, seed=0)
    assert not np.allclose(gates["gate"], other["gate"])
    batch = [tiny.encode(each.prompt, each.target) for each in task.prompts("train", 0, 4)]
    opened = Edit(gate=torch.ones(3, 4), replacement=means)
    torch.testing.assert_close(tiny.score(batch, opened).mean(), tiny.score(batch).mean())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"steps": 0}, "steps of at least 1, not 0"),
        ({"learning_rate": (0.0, 0.1)}, "learning rate: above 0 and at most 100, not 0.0"),
        ({"learning_rate": 0.1}, r"a pair \(start, end\), such as \(0.3, 0.05\), not 0.1"),
        ({"steps": 2.5}, "steps of at least 1, not 2.5"),
        ({"beta2": 1.0}, "a beta2 of at least 0 and below 1, not 1.0"),
        ({"regularization": -0.1}, "a regularization above 0, not -0.1"),
        ({"max_grad_norm": 0.0}, "a max_grad_norm above 0, not 0.0"),
        ({"initial": ("a", "b")}, "a range in .0, 1., not"),
        ({"beta2": "x"}, "not 'x'"),
        ({"replacement": "median"}, "no replacement 'median': use zero or mean"),
    ],
)
def test_settings_that_make_no_sense(settings, words):
    with pytest.raises(HeadAtlasError, match=words):
        Gating(**settings)


def test_a_batch_is_no_larger_than_the_task(tiny, task):
    rows = EncodedBatches(tiny, task, 100_000, seed=0)[0]
    assert len(rows) == len(task.split("train")) > 1
    assert len({row.ids for row in rows}) == len(rows)
