"""Attention in a packed row: when packing pays, who sees whom, and in which chunks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from headatlas.models.tokens import Tokens

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from headatlas.models.model import Model

ATTENTION_REACH = 2000
"""Tokens in view at which attention costs as much as everything else in a layer; measured on the
embedded model with two cores. Larger models have a longer reach: this is on the safe side."""

PASS_COST = 125
"""What a pass of its own costs, in tokens; measured in the same way."""

CHUNK = 96
"""Tokens of a chunk of attention, at least."""


def packing_pays(
    rows: Sequence[Tokens], prefix: int, *, in_chunks: bool = True, cached: bool = True
) -> bool:
    """Whether one packed row costs less than a batch that continues the prefix.

    Without `cached`, every row of the batch holds the prefix itself.
    """
    suffixes = [len(row) - 1 - prefix for row in rows]
    longest = max(suffixes) + (0 if cached else prefix)
    seen_by_row = longest + (prefix if cached else 0)
    batch = len(rows) * longest * (1 + seen_by_row / ATTENTION_REACH)
    if prefix and cached:
        batch += prefix * (1 + prefix / ATTENTION_REACH) + PASS_COST
    packed = prefix + sum(suffixes)
    seen = packed**2
    if in_chunks:
        seen = prefix**2 + sum(size * (prefix + size) for size in chunk_sizes(suffixes))
    return packed + seen / ATTENTION_REACH < batch


def attends_in_chunks(model: PreTrainedModel) -> bool:
    """Whether the model attends by the function that packing splits."""
    return bool(model.config._attn_implementation == "sdpa")


class AttentionInChunks(TorchFunctionMode):
    """Attention with the mask of a packed row, without what the mask would throw away.

    A chunk of suffixes sees the prefix and itself. Attention implementations that do not call
    torch's function are left alone: they get the whole row and its mask.
    """

    def __init__(self, prefix: int, chunks: list[int], mask: Tensor) -> None:
        super().__init__()
        self.sizes = [prefix, *chunks]
        self.masks = []
        start = prefix
        for size in chunks:
            part = mask[:, :, start : start + size]
            seen = part[..., :prefix], part[..., start : start + size]
            self.masks.append(torch.cat(seen, dim=-1))
            start += size

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if function is scaled_dot_product_attention:
            return self._attend(*args, **(kwargs or {}))
        return function(*args, **(kwargs or {}))

    def _attend(
        self, query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor, **options: Any
    ) -> Tensor:
        queries, keys, values = (x.split(self.sizes, dim=-2) for x in (query, key, value))
        outputs = []
        if self.sizes[0]:
            causal = {**options, "is_causal": True}
            outputs.append(scaled_dot_product_attention(queries[0], keys[0], values[0], **causal))
        for q, k, v, mask in zip(queries[1:], keys[1:], values[1:], self.masks, strict=True):
            k, v = torch.cat([keys[0], k], dim=-2), torch.cat([values[0], v], dim=-2)
            outputs.append(
                scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.device), **options)
            )
        return torch.cat(outputs, dim=-2)


def chunk_sizes(suffixes: Sequence[int]) -> list[int]:
    """Sizes of chunks of whole suffixes."""
    chunks = [0]
    for suffix in suffixes:
        if chunks[-1] >= CHUNK:
            chunks.append(0)
        chunks[-1] += suffix
    return chunks


def block_mask(owner: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to the attention scores: 0 where a token may look, else the lowest number."""
    seen = ((owner[:, None] == owner[None, :]) | (owner[None, :] < 0)).tril()
    mask = torch.zeros(seen.shape, dtype=dtype, device=owner.device)
    return mask.masked_fill(~seen, torch.finfo(dtype).min)[None, None]  # 1 1 token token


def longest_packable(model: Model) -> float:
    """The longest row that may run packed: the mask of a packed row replaces a layer's own window,
    which makes no difference to rows within it. 0 for layers that attend in other ways."""
    config = model.hf.config.get_text_config(decoder=True)
    kinds = getattr(config, "layer_types", None) or ["full_attention"]
    if not set(kinds) <= {"full_attention", "sliding_attention"}:
        return 0
    windows = ("sliding_window", "attention_chunk_size", "window_size", "attention_window")
    sizes = [getattr(config, name, None) for name in windows]
    if any(size and not isinstance(size, int) for size in sizes):
        return 0
    return min((size for size in sizes if size), default=math.inf)
