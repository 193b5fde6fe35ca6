"""Contrast: its loss, and pairs of tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from headatlas.errors import HeadAtlasError, TaskError
from headatlas.methods.contrast import Contrast
from headatlas.tasks import Example, Task
from headatlas.tasks.pairs import TaskPairs


def task(name, target):
    return Task.of(name, [Example(f"{name} {i} " * (i % 3 + 1), target) for i in range(20)])


def test_what_is_retained_becomes_likelier_than_what_is_forgotten(tiny):
    pairs = TaskPairs((task("ab", "cd"),), (task("xy", "zw"),))
    gates = Contrast(steps=40, batch_size=4).run(tiny, pairs, seed=0)
    losses = gates.data["loss"].sel(seed=0).to_numpy()
    assert losses[-5:].mean() < losses[:5].mean() - 0.5
    assert gates.provenance["retain"] == ["ab"]


def test_a_fit_ends_when_every_task_is_forgotten(tiny):
    pairs = TaskPairs((task("ab", "cd"), task("ef", "gh")), (task("xy", "zw"), task("uv", "st")))
    method = Contrast(steps=60, batch_size=4, margin=0.2)
    losses = method.run(tiny, pairs).data["loss"].sel(seed=0).to_numpy()
    ended = int(np.isfinite(losses).sum())
    assert 2 < ended < 60
    assert losses[ended - 2 : ended].mean() <= -0.95 * 0.2 < losses[ended - 3 : ended - 1].mean()
    whole = replace(method, stop_at=None).run(tiny, pairs).data["loss"].to_numpy()
    assert np.isfinite(whole).all()


def test_what_is_forgotten_enough_counts_no_more(tiny, monkeypatch):
    """Past the margin the loss is the margin, and only the retained task has a gradient."""
    values = {"kept": -1.0, "lost": -7.0}
    seen = []

    class Scores:
        def __init__(self, value, gate):
            self.value = value + 0 * gate.sum()

        def mean(self):
            return self.value

    def score(rows, edit):
        name = "kept" if len(seen) % 2 == 0 else "lost"
        leaf = torch.tensor(values[name], requires_grad=True)
        seen.append(leaf)
        return Scores(leaf, edit.gate)

    monkeypatch.setattr(tiny, "score", score)
    pairs = TaskPairs((task("ab", "cd"),), (task("xy", "zw"),))
    gates = Contrast(steps=1, batch_size=4, keep_best=False).run(tiny, pairs)
    assert float(gates.data["loss"][0, 0]) == -5.0
    assert float(seen[0].grad) == -1.0
    assert float(seen[1].grad) == 0.0
    values["lost"] = -3.0
    seen.clear()
    gates = Contrast(steps=1, batch_size=4, keep_best=False).run(tiny, pairs)
    assert float(gates.data["loss"][0, 0]) == -2.0
    assert float(seen[1].grad) == 1.0


def test_pairs_of_tasks():
    one, two = task("ab", "cd"), task("xy", "zw")
    pairs = TaskPairs((one,), (two,))
    assert pairs.name == "ab-not-xy"
    assert pairs.hash != TaskPairs((two,), (one,)).hash
    assert TaskPairs((one, two), (two, one)).name == "ab+1-more-not-xy+1-more"
    with pytest.raises(TaskError, match="there are 1 tasks to retain and 0 to forget"):
        TaskPairs((one,), ())
    with pytest.raises(TaskError, match="'ab' cannot be retained and forgotten at once"):
        TaskPairs((one,), (one,))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"margin": 0}, "contrast needs a margin above 0, not 0"),
        ({"max_grad_norm": -1}, "a max_grad_norm above 0, not -1"),
        ({"beta2": 2.0}, "a beta2 of at least 0 and below 1, not 2.0"),
        ({"regularization": float("inf")}, "a regularization above 0, not inf"),
        ({"stop_at": -3}, "a stop_at above 0, not -3"),
    ],
)
def test_settings_that_make_no_sense(settings, words):
    with pytest.raises(HeadAtlasError, match=words):
        Contrast(**settings)


def test_the_published_schedule_is_the_papers():
    published = Contrast.published()
    assert (published.stop_at, published.keep_best) == (None, False)
    assert (published.batch_size, published.initial, published.beta2) == (64, (0.0, 1.0), 0.999)
    assert (
        published.steps,
        published.learning_rate,
        published.regularization,
        published.margin,
    ) == (
        500,
        (0.1, 0.01),
        0.1,
        5.0,
    )
