"""Importance of heads whose part is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headatlas.methods import Probing
from headatlas.methods.importances import contributions, importance_p
from headatlas.methods.probe import LabelledFeatures, fit_probe

CLASSES, D_HEAD = 4, 8
TELLS, CONSTANT, NOISE = range(2), range(2, 6), range(6, 8)


def made_features(seed: int, count: int = 240) -> LabelledFeatures:
    """Two heads that tell the label, four that always write the same, and two that write noise."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, count)
    heads = rng.normal(size=(count, 8, 2 * D_HEAD))
    directions = np.random.default_rng(99).normal(size=(CLASSES, len(TELLS), 2 * D_HEAD))
    heads[:, TELLS] = heads[:, TELLS] * 0.5 + directions[labels]
    heads[:, CONSTANT] = np.random.default_rng(98).normal(size=(len(CONSTANT), 2 * D_HEAD))
    return LabelledFeatures(torch.tensor(heads).float(), labels, np.arange(count))


@pytest.fixture(scope="module")
def p_values():
    """Corrected p-values of both kinds of contribution: class × head."""
    settings = Probing(epochs=30, learning_rate=1e-3, projection_dim=16, hidden_dim=64)
    probe = fit_probe(settings, made_features(0), CLASSES, 0, None, "probe")
    select = made_features(1)
    return {
        centred: importance_p(
            contributions(probe, select.x, CLASSES, centred=centred),
            select,
            300,
            np.random.default_rng(0),
        )
        for centred in (False, True)
    }


def test_heads_that_tell_the_label_pass(p_values):
    assert (p_values[True][:, TELLS] <= 0.05).all()


def test_heads_that_always_write_the_same_or_noise_do_not(p_values):
    assert (p_values[True][:, CONSTANT] > 0.05).all()
    assert (p_values[True][:, NOISE] <= 0.05).mean() < 0.3


def test_counted_from_zero_a_constant_head_would_pass(p_values):
    """Its gradient passes through units that other heads switch."""
    assert (p_values[False][:, CONSTANT] <= 0.05).any()
