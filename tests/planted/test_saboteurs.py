"""Gating finds heads that were made to do harm, and mends the model."""

from __future__ import annotations

import pytest

from headatlas.checks.gating.held_out import held_out
from planted.variants import SABOTEURS, check_dead_heads, plant, score_without, scores_of

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def planted(embedded):
    return plant(embedded, saboteurs=SABOTEURS)


def test_saboteurs_do_harm_together_and_alone(planted, embedded, task):
    damaged, mended = score_without(planted, task), score_without(planted, task, *SABOTEURS)
    assert -8 < damaged < mended - 1
    assert mended == pytest.approx(score_without(embedded, task), abs=0.3)
    for saboteur in SABOTEURS:
        others = [other for other in SABOTEURS if other != saboteur]
        assert score_without(planted, task, saboteur) > damaged + 0.3, saboteur
        assert score_without(planted, task, *others) < mended - 0.3, saboteur


def test_dead_heads_are_irrelevant_and_nothing_else(gates):
    check_dead_heads(gates)


def test_saboteurs_interfere(gates):
    assert (scores_of(gates, "interference", SABOTEURS) >= 0.5).mean() >= 0.9
    assert (scores_of(gates, "facilitation", SABOTEURS) < 0.5).all()


def test_gates_mend_the_damaged_model_on_test_questions(planted, task, gates):
    rows = {row.gates: row for row in held_out(planted, task, gates, limit=32)}
    assert rows["G⁺"].high < -1
    assert rows["G⁺"].better == 3
