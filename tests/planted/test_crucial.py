"""Gating finds the heads that a task needs most."""

from __future__ import annotations

import pytest

from headatlas.tasks import load_task
from planted.variants import CRUCIAL, check_dead_heads, gate, plant, score_without, scores_of

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def planted(embedded):
    return plant(embedded)


@pytest.fixture(scope="module")
def task():
    return load_task("singular-plural")


@pytest.fixture(scope="module")
def gates(planted, task):
    return gate(planted, task)


def test_the_task_needs_every_crucial_head(planted, task):
    whole = score_without(planted, task)
    for head in CRUCIAL:
        assert score_without(planted, task, head) < whole - 0.2, head


def test_dead_heads_are_irrelevant_and_nothing_else(gates):
    check_dead_heads(gates)


def test_crucial_heads_facilitate(gates):
    assert (scores_of(gates, "facilitation", CRUCIAL) >= 0.5).mean() >= 0.9
