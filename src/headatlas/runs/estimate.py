"""How long and how much memory the main methods take on this machine, measured with this model."""

from __future__ import annotations

import time
from dataclasses import dataclass

import psutil
import torch

from headatlas.models.edit import Edit
from headatlas.models.model import Model
from headatlas.models.tokens import Tokens
from headatlas.models.heads.watch import probe_tokens

PREFIX, SUFFIX, ROWS = 64, 8, 32


@dataclass(frozen=True)
class Estimate:
    """What a piece of work costs: seconds, and bytes including the weights."""

    work: str
    seconds: float
    memory: int


def estimate(model: Model) -> list[Estimate]:
    """Measure one scoring pass and one gate update on few-shot prompts, and scale them up.

    The prompts are random tokens: a shared prefix of 64 and 32 rows of 8. Times on other prompts
    go with the number of tokens.
    """
    prefix = probe_tokens(model.hf, length=PREFIX)[0].tolist()
    tails = probe_tokens(model.hf, rows=ROWS, length=SUFFIX).tolist()
    rows = [Tokens((*prefix, *tail), PREFIX + SUFFIX - 1) for tail in tails]
    _score(model, rows)  # first passes allocate; they do not count
    forward, used = _score(model, rows)
    update, used_update = _update(model, rows)
    weights = sum(p.numel() * p.element_size() for p in model.hf.parameters())
    heads = len(model.spec.heads())
    return [
        Estimate("score 32 few-shot prompts", forward, weights + used),
        Estimate(
            f"ablate all {heads} heads on 32 few-shot prompts", forward * heads, weights + used
        ),
        Estimate("one gate update on 32 few-shot prompts", update, weights + used_update),
    ]


@torch.no_grad()
def _score(model: Model, rows: list[Tokens]) -> tuple[float, int]:
    before, start = _used(model), time.perf_counter()
    model.score(rows, Edit(gate=torch.ones(model.spec.n_layers, model.spec.n_heads)))
    return time.perf_counter() - start, max(0, _used(model) - before)


def _update(model: Model, rows: list[Tokens]) -> tuple[float, int]:
    gate = torch.ones(model.spec.n_layers, model.spec.n_heads, requires_grad=True)
    before, start = _used(model), time.perf_counter()
    with torch.enable_grad():
        loss = model.score(rows, Edit(gate=gate)).mean().mean()
        used = max(0, _used(model) - before)  # the graph is alive here
        loss.backward()
    return time.perf_counter() - start, used


def _used(model: Model) -> int:
    if model.hf.device.type != "cpu":
        torch.accelerator.synchronize()  # or the clock would stop before the work does
    if model.hf.device.type == "cuda":
        return int(torch.cuda.memory_allocated(model.hf.device))
    return int(psutil.Process().memory_info().rss)
