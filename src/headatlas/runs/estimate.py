"""How long and how much memory the main methods take on this machine, measured with this model."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psutil
import torch

from headatlas.models.edit import Edit
from headatlas.models.heads.watch import probe_tokens
from headatlas.models.tokens import Tokens

if TYPE_CHECKING:
    from headatlas.models.model import Model

PREFIX, SUFFIX, ROWS = 64, 8, 32

SAMPLE_SECONDS = 0.001
"""Seconds between two samples of the process's memory."""


@dataclass(frozen=True)
class Estimate:
    """What a piece of work costs: seconds, and peak bytes of memory including the weights."""

    work: str
    seconds: float
    memory: int


def estimate(model: Model) -> list[Estimate]:
    """Measure one scoring pass and one gate update on few-shot prompts, and scale them up.

    The prompts are random tokens: a shared prefix of 64 and 32 rows of 8. Times on other prompts
    scale with the number of tokens.

    >>> [round(cost.seconds, 1) for cost in estimate(model)]  # doctest: +SKIP
    [0.4, 108.2, 1.3]
    """
    prefix = probe_tokens(model.hf, length=PREFIX)[0].tolist()
    suffixes = probe_tokens(model.hf, rows=ROWS, length=SUFFIX).tolist()
    rows = [Tokens((*prefix, *suffix), PREFIX + SUFFIX - 1) for suffix in suffixes]
    weights = sum(p.numel() * p.element_size() for p in model.hf.parameters())
    heads = len(model.spec.heads())
    _score(model, rows)  # warm-up, not timed
    forward, forward_memory = _measure(model.device, lambda: _score(model, rows))
    update, update_memory = _measure(model.device, lambda: _update(model, rows))
    return [
        Estimate("score 32 few-shot prompts", forward, weights + forward_memory),
        Estimate(
            f"ablate all {heads} heads on 32 few-shot prompts",
            forward * heads,
            weights + forward_memory,
        ),
        Estimate("one gate update on 32 few-shot prompts", update, weights + update_memory),
    ]


@torch.no_grad()
def _score(model: Model, rows: list[Tokens]) -> None:
    model.score(rows, Edit(gate=torch.ones(model.spec.n_layers, model.spec.n_heads)))


def _update(model: Model, rows: list[Tokens]) -> None:
    gate = torch.ones(model.spec.n_layers, model.spec.n_heads, requires_grad=True)
    with torch.enable_grad():
        model.score(rows, Edit(gate=gate)).mean().mean().backward()


def _measure(device: torch.device, work: Callable[[], None]) -> tuple[float, int]:
    """Seconds of some work, and the most memory that it used at a time, in bytes."""
    peak = _cuda_peak if device.type == "cuda" else _process_peak
    _wait(device)
    start = time.perf_counter()
    with peak(device) as used:
        work()
        _wait(device)  # or the clock would stop before the work does
    return time.perf_counter() - start, used[-1]


def _wait(device: torch.device) -> None:
    if device.type != "cpu":
        torch.accelerator.synchronize()


@contextmanager
def _cuda_peak(device: torch.device) -> Iterator[list[int]]:
    used: list[int] = []
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    yield used
    used.append(max(0, torch.cuda.max_memory_allocated(device) - before))


@contextmanager
def _process_peak(device: torch.device) -> Iterator[list[int]]:
    """Sample the resident memory in a background thread."""
    process = psutil.Process()
    used: list[int] = []
    _give_back_freed_memory()
    before = highest = process.memory_info().rss
    done = threading.Event()

    def look() -> None:
        nonlocal highest
        while not done.wait(SAMPLE_SECONDS):
            highest = max(highest, process.memory_info().rss)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield used
    finally:
        highest = max(highest, process.memory_info().rss)
        done.set()
        thread.join()
    used.append(highest - before)


def _give_back_freed_memory() -> None:
    """Return memory that glibc's allocator keeps to the system: using it again would not show."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
