"""Gating finds the heads that a task needs most."""

from __future__ import annotations

import pytest

from planted.variants import CRUCIAL, check_dead_heads, plant, score_without, scores_of

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def planted(embedded):
    return plant(embedded)


def test_the_task_needs_every_crucial_head(planted, task):
    whole = score_without(planted, task)
    for head in CRUCIAL:
        assert score_without(planted, task, head) < whole - 0.2, head


def test_dead_heads_are_irrelevant_and_nothing_else(gates):
    check_dead_heads(gates)


def test_crucial_heads_facilitate(gates):
    assert (scores_of(gates, "facilitation", CRUCIAL) >= 0.5).mean() >= 0.9
