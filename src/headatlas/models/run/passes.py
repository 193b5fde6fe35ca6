"""Forward passes that compute only what is asked for.

Two savings, both exact: the vocabulary projection runs on chosen positions only, and a prefix that
all rows share runs once, its keys and values then serve every row, with gradient where wanted.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.cache_utils import Cache

Places = tuple[Tensor, Tensor]
"""Row and position indices of the places whose logits are wanted."""


def pad_right(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Token ids and attention mask (row × position); padding comes last and is masked."""
    length = max(len(row) for row in rows)
    ids = torch.tensor([[*row, *[0] * (length - len(row))] for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    mask = torch.arange(length, device=device)[None, :] < lengths[:, None]
    return ids, mask.long()


def logits_at(
    model: PreTrainedModel,
    ids: Tensor,
    mask: Tensor,
    places: Places,
    cache: Cache | None = None,
) -> Tensor:
    """Logits (place × vocabulary) at the given places of a batch that continues `cache`."""
    with project_only(model.get_output_embeddings(), ids, places):
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask}
        if cache is None:
            logits = model(**inputs, use_cache=False).logits
        else:
            logits = model(**inputs, past_key_values=cache, use_cache=True).logits
    if logits.shape[:2] == ids.shape[:2]:  # the model projects somewhere else: pick afterwards
        logits = logits[places][None]
    return cast("Tensor", logits[0])


@contextmanager
def project_only(head: nn.Module | None, ids: Tensor, places: Places) -> Iterator[None]:
    """Let the vocabulary projection see only the hidden states at `places`."""
    if head is None:
        yield
        return

    def pick(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        hidden = args[0]
        if hidden.shape[:2] != ids.shape:
            return args
        rows, positions = (index.to(hidden.device) for index in places)
        return (hidden[rows, positions][None], *args[1:])  # 1 place d_model

    handle = head.register_forward_pre_hook(pick)
    try:
        yield
    finally:
        handle.remove()


def nowhere(device: torch.device) -> Places:
    """A single place, for passes whose logits nobody wants."""
    zero = torch.zeros(1, dtype=torch.long, device=device)
    return zero, zero


def run_prefix(model: PreTrainedModel, ids: Sequence[int], chunk: int | None = None) -> Cache:
    """Keys and values of a prefix, computed once in a batch of one, in chunks if it is long."""
    device = model.device
    cache: Cache | None = None
    step = chunk or len(ids)
    for start in range(0, len(ids), step):
        part = torch.tensor([ids[start : start + step]], device=device)
        mask = torch.ones(1, start + part.shape[1], dtype=torch.long, device=device)
        with project_only(model.get_output_embeddings(), part, nowhere(device)):
            out = model(input_ids=part, attention_mask=mask, past_key_values=cache, use_cache=True)
        cache = out.past_key_values
    assert cache is not None
    return cache


def repeat_cache(cache: Cache, rows: int) -> Cache:
    """The cache for a batch of `rows`; the original stays as it was, gradients flow to it."""
    repeated = copy.copy(cache)
    repeated.layers = [copy.copy(layer) for layer in cache.layers]
    repeated.batch_repeat_interleave(rows)
    return repeated
