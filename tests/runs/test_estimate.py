"""Estimates of memory are peaks: what was used at a time, not what is left at the end."""

from __future__ import annotations

import torch

from headatlas.runs.estimate import _measure, estimate

SIZE = 25_000_000
"""Numbers of a tensor that takes 100 MB."""


def test_memory_that_is_freed_again_counts():
    def work():
        for _ in range(2):  # one after the other: 100 MB at a time
            torch.ones(SIZE).add_(1)

    _, used = _measure(torch.device("cpu"), work)
    assert 0.9 * 4 * SIZE < used < 1.7 * 4 * SIZE


def test_memory_used_before_does_not_hide_the_peak():
    torch.ones(2 * SIZE).add_(1)
    _, used = _measure(torch.device("cpu"), lambda: torch.ones(SIZE).add_(1))
    assert used > 0.9 * 4 * SIZE


def test_an_update_takes_more_than_a_pass(embedded):
    score, ablation, update = estimate(embedded)
    weights = 4 * embedded.spec.parameters
    assert weights < score.memory < update.memory
    assert ablation.memory == score.memory
    assert update.memory - weights > 100e6  # the graph of all layers
    assert ablation.seconds > 100 * score.seconds > 0
