"""All rows of a batch in one row: the prefix once, then every row's own rest.

Position ids and a block mask keep the rows apart: each rest sees the prefix and itself. There is
no padding and a single pass, which pays for short rests; the mask grows with the square of the
whole, so long ones are better off in a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headatlas.models.passes import Places, project_only
from headatlas.models.tokens import Tokens

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from headatlas.models.model import Model

ATTENTION_REACH = 2000
"""Tokens in view at which attention costs as much as the rest of a layer; measured on the embedded
model with two cores. Larger models have a longer reach: for them this is on the safe side."""

PASS_COST = 125
"""What a pass of its own costs, in tokens; measured in the same way."""


def packing_pays(rows: Sequence[Tokens], prefix: int) -> bool:
    """Whether one packed row costs less than a batch that continues the prefix."""
    rests = [len(row) - 1 - prefix for row in rows]
    packed = prefix + sum(rests)
    longest = max(rests)
    batch = len(rows) * longest * (1 + (prefix + longest) / ATTENTION_REACH)
    if prefix:
        batch += prefix * (1 + prefix / ATTENTION_REACH) + PASS_COST
    return packed * (1 + packed / ATTENTION_REACH) < batch


def packed_logits(model: PreTrainedModel, rows: Sequence[Tokens], prefix: int) -> Tensor:
    """Logits that predict the rows' targets, one row's after the other: place × vocabulary."""
    ids = list(rows[0].ids[:prefix])
    positions = list(range(prefix))
    owner = [-1] * prefix  # the row that a token belongs to; −1: all
    at: list[int] = []
    for number, row in enumerate(rows):
        start = len(ids) - prefix
        at += [start + position - 1 for position in range(row.target_start, len(row))]
        ids += row.ids[prefix:-1]  # the last token predicts nothing
        positions += range(prefix, len(row) - 1)
        owner += [number] * (len(row) - 1 - prefix)
    device = model.device
    tokens = torch.tensor([ids], device=device)
    places: Places = (torch.zeros(len(at), dtype=torch.long), torch.tensor(at))
    inputs: dict[str, Any] = {
        "input_ids": tokens,
        "attention_mask": _block_mask(torch.tensor(owner, device=device), model.dtype),
        "position_ids": torch.tensor([positions], device=device),
    }
    with project_only(model.get_output_embeddings(), tokens, places):
        logits: Tensor = model(**inputs, use_cache=False).logits
    if logits.shape[1] == len(ids):  # the model projects somewhere else: pick afterwards
        logits = logits[:, places[1].to(logits.device)]
    return logits[0]


def _block_mask(owner: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to the attention scores: 0 where a token may look, else the least number."""
    seen = ((owner[:, None] == owner[None, :]) | (owner[None, :] < 0)).tril()
    mask = torch.zeros(seen.shape, dtype=dtype, device=owner.device)
    return mask.masked_fill(~seen, torch.finfo(dtype).min)[None, None]  # 1 1 token token


def looks_everywhere(model: Model) -> bool:
    """Whether no layer has a window of its own, which a mask from outside would replace."""
    config = model.hf.config.get_text_config(decoder=True)
    windows = ("sliding_window", "attention_chunk_size", "window_size", "attention_window")
    kinds = getattr(config, "layer_types", None) or ["full_attention"]
    return set(kinds) == {"full_attention"} and not any(
        getattr(config, name, None) for name in windows
    )
