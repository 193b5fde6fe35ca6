"""Forward passes that compute only what is needed.

Two savings, both exact: the vocabulary projection runs on chosen positions only, and a prefix that
all rows share runs once; its keys and values then serve every row, with gradient where needed.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.cache_utils import Cache

from headatlas.models.weights import input_device

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
    with project_only(model.get_output_embeddings(), ids, places) as projection:
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": mask}
        if cache is None:
            logits = model(**inputs, use_cache=False).logits
        else:
            logits = model(**inputs, past_key_values=cache, use_cache=True).logits
    return projection.logits_at_places(logits)


class PickedProjection:
    """A vocabulary projection that sees only the hidden states at `places`.

    Not every model lets its projection be reached: some pass it flattened states, some use its
    weight without calling it. `picked` records whether the hook chose the places; the shape of the
    logits cannot tell, since there may be as many places as tokens.
    """

    def __init__(self, ids: Tensor, places: Places) -> None:
        self.ids, self.places = ids, places
        self.picked = False

    def pick(self, module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """The forward pre-hook: hidden states (row × position × d_model) → 1 × place × d_model."""
        hidden = args[0]
        if hidden.ndim != 3 or hidden.shape[:2] != self.ids.shape:
            return args  # flattened, or not of these tokens: the logits are picked afterwards
        self.picked = True
        return (self._at_places(hidden)[None], *args[1:])

    def logits_at_places(self, logits: Tensor) -> Tensor:
        """The model's logits at the places, whether the hook picked them or not."""
        return logits[0] if self.picked else self._at_places(logits)  # place vocabulary

    def _at_places(self, values: Tensor) -> Tensor:
        rows, positions = (index.to(values.device) for index in self.places)
        return values[rows, positions]


@contextmanager
def project_only(head: nn.Module | None, ids: Tensor, places: Places) -> Iterator[PickedProjection]:
    """Let the vocabulary projection see only the hidden states at `places`."""
    projection = PickedProjection(ids, places)
    if head is None:
        yield projection
        return
    handle = head.register_forward_pre_hook(projection.pick)
    try:
        yield projection
    finally:
        handle.remove()


def nowhere(device: torch.device) -> Places:
    """A single place, for passes whose logits are not used."""
    zero = torch.zeros(1, dtype=torch.long, device=device)
    return zero, zero


def run_prefix(model: PreTrainedModel, ids: Sequence[int], chunk: int | None = None) -> Cache:
    """Keys and values of a prefix, computed once in a batch of one, in chunks if it is long."""
    device = input_device(model)
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
