"""Estimates of memory are peaks: what was used at a time, not what is left at the end."""

from __future__ import annotations

import subprocess
import sys

from headatlas.runs.estimate import estimate

SIZE = 25_000_000
"""Numbers of a tensor that takes 100 MB."""

MEASURE = f"""
import torch
from headatlas.runs.estimate import _measure

def tensors(count, size={SIZE}):
    for _ in range(count):  # one after the other
        torch.ones(size).add_(1)

"""


def memory_used(work):
    """Peak bytes of some work, in a process of its own.

    Where a process has freed much before, its allocator may put the second of two tensors elsewhere
    and keep the memory of the first, which then is the peak of that process.
    """
    code = f"{MEASURE}{work}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_memory_that_is_freed_again_counts():
    used = memory_used("print(_measure(torch.device('cpu'), lambda: tensors(2))[1])")
    assert 0.9 * 4 * SIZE < used < 1.7 * 4 * SIZE


def test_memory_used_before_does_not_hide_the_peak():
    before = f"tensors(1, {2 * SIZE})"
    used = memory_used(f"{before}; print(_measure(torch.device('cpu'), lambda: tensors(1))[1])")
    assert used > 0.9 * 4 * SIZE


def test_an_update_takes_more_than_a_pass(embedded):
    score, ablation, update = estimate(embedded)
    weights = 4 * embedded.spec.parameters
    assert weights < score.memory < update.memory
    assert ablation.memory == score.memory
    assert update.memory - weights > 100e6  # the graph of all layers
    assert ablation.seconds > 100 * score.seconds > 0
