"""20,000 random batches, new ones each time, score as one row at a time.

A failure prints the seed; `HEADATLAS_TEST_SEED` runs the same batches again.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from architectures.small_models import build
from headatlas.models.edit import Edit
from headatlas.models.model import Model
from headatlas.models.run import packing, scoring
from headatlas.models.tokens import Tokens

pytestmark = pytest.mark.long

FAMILIES = [
    "llama",
    "gpt2",
    "bloom",
    "gemma2",
    "qwen3_next",
    "gpt_neox",
    "opt",
    "falcon",
    "phi",
    "mistral",
]
BATCHES = 20_000
BATCHES_PER_POOL = 40
POOL = 12
TOLERANCE = 1e-4
SEED = int(os.environ.get("HEADATLAS_TEST_SEED") or random.SystemRandom().randrange(2**32))


@dataclass(frozen=True)
class Row:
    """A row of a pool, its own gate, and the log-probability of each of its tokens but the first,
    alone: under the gate that the whole pool shares, and under its own."""

    ids: tuple[int, ...]
    gate: Tensor
    shared: Tensor
    own: Tensor


def draw_ids(rng: random.Random) -> list[tuple[int, ...]]:
    """Rows of any mix of lengths: some with a prefix in common, some that start others."""
    alphabet = rng.choice([2, 4, 100])
    prefix = [3 + rng.randrange(alphabet) for _ in range(rng.choice([0, 1, 3, 8, 20]))]
    drawn: list[tuple[int, ...]] = []
    while len(drawn) < POOL:
        tail = [3 + rng.randrange(alphabet) for _ in range(rng.randint(2, 12))]
        start = rng.choice([(), tuple(prefix), tuple(prefix), *drawn[-1:]])
        drawn.append((*start, *tail)[:40])
        if rng.random() < 0.3 and len(drawn[-1]) > 2:
            drawn.append(drawn[-1][: rng.randint(2, len(drawn[-1]) - 1)])
    return drawn[:POOL]


@torch.no_grad()
def alone(model: Model, ids: tuple[int, ...], gate: Tensor) -> Tensor:
    """The definition: one row, no padding, full logits."""
    with model.editing(Edit(gate)):
        logits = model.hf(torch.tensor([ids]), use_cache=False).logits[0]
    return logits[:-1].log_softmax(-1).gather(-1, torch.tensor(ids[1:])[:, None])[:, 0]


def draw_pool(model: Model, rng: random.Random) -> tuple[Tensor, list[Row]]:
    """A gate, and rows with their log-probabilities."""
    generator = torch.Generator().manual_seed(rng.randrange(2**32))
    shape = (model.spec.n_layers, model.spec.n_heads)
    shared = torch.rand(shape, generator=generator)
    pool = []
    for ids in draw_ids(rng):
        own = torch.rand(shape, generator=generator)
        pool.append(Row(ids, own, alone(model, ids, shared), alone(model, ids, own)))
    return shared, pool


def draw_ways(model: Model, rng: random.Random) -> dict[str, bool]:
    """Options of `score` that the model has: prefix sharing on, off or by itself; packed or not."""
    share = rng.choice([None, False, *[True] * model.continues_from_cache])
    pack = rng.choice([None, False, *[True] * 2 * model.packs])
    return {name: way for name, way in (("share", share), ("pack", pack)) if way is not None}


def check_batch(model: Model, gate: Tensor, pool: list[Row], rng: random.Random) -> str | None:
    """Score some rows of a pool in some way; what differs, or nothing."""
    rows = rng.choices(pool, k=rng.choice([1, 1, 2, 3, 4, 6]))
    tokens = [Tokens(row.ids, rng.randint(1, len(row.ids) - 1)) for row in rows]
    if by_row := rng.random() < 0.15:
        edit, ways = Edit(torch.stack([row.gate for row in rows])), {}
    else:
        edit, ways = Edit(gate), draw_ways(model, rng)
    with torch.no_grad():
        scores = model.score(tokens, edit, **ways)
    for number, (row, own) in enumerate(zip(rows, tokens, strict=True)):
        wanted = (row.own if by_row else row.shared)[own.target_start - 1 :]
        gap = (scores.logprob[number][scores.mask[number]] - wanted).abs()
        if not bool((gap <= TOLERANCE * (1 + wanted.abs())).all()):
            return f"row {number} of {tokens}, by row: {by_row}, {ways}: off by {gap.tolist()}"
    return None


@pytest.mark.parametrize("family", FAMILIES)
def test_random_batches_score_as_one_row_at_a_time(family, monkeypatch):
    rng = random.Random(f"{SEED} {family}")
    model = Model(build(family), None, family)
    for number in range(BATCHES // len(FAMILIES)):
        if number % BATCHES_PER_POOL == 0:
            gate, pool = draw_pool(model, rng)
            monkeypatch.setattr(packing, "CHUNK", rng.choice([1, 6, 96]))
            monkeypatch.setattr(scoring, "TOKENS_PER_PASS", rng.choice([16, 64, 4096]))
            monkeypatch.setattr(scoring, "PREFIX_CHUNK", rng.choice([2, 1024]))
        difference = check_batch(model, gate, pool, rng)
        assert not difference, f"HEADATLAS_TEST_SEED={SEED}, {family}, {number}: {difference}"
