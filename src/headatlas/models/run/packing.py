"""All rows of a batch in one row: the prefix once, then every row's own suffix.

Position ids and a block mask keep the rows apart: each suffix sees the prefix and itself. There is
no padding and a single pass. Attention over the whole row would grow with its square; it runs in
chunks of whole suffixes instead, each with the prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from headatlas.models.run.passes import Places, project_only
from headatlas.models.tokens import Tokens
from headatlas.models.weights import input_device

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


def packing_pays(rows: Sequence[Tokens], prefix: int, *, in_chunks: bool = True) -> bool:
    """Whether one packed row costs less than a batch that continues the prefix."""
    suffixes = [len(row) - 1 - prefix for row in rows]
    longest = max(suffixes)
    batch = len(rows) * longest * (1 + (prefix + longest) / ATTENTION_REACH)
    if prefix:
        batch += prefix * (1 + prefix / ATTENTION_REACH) + PASS_COST
    packed = prefix + sum(suffixes)
    seen = packed**2
    if in_chunks:
        seen = prefix**2 + sum(size * (prefix + size) for size in _chunks(suffixes))
    return packed + seen / ATTENTION_REACH < batch


def attends_in_chunks(model: PreTrainedModel) -> bool:
    """Whether the model attends by the function that packing splits."""
    return bool(model.config._attn_implementation == "sdpa")


def packed_logits(
    model: PreTrainedModel, prefix: int, groups: Sequence[Sequence[Tokens]]
) -> Tensor:
    """Logits that predict the targets of all groups, in order: place × vocabulary.

    The last row of a group runs; the others are rows that it starts with.
    """
    rows = [group[-1] for group in groups]
    ids = list(rows[0].ids[:prefix])
    positions = list(range(prefix))
    owner = [-1] * prefix  # the row that a token belongs to; −1: all
    at: list[int] = []
    for number, (row, group) in enumerate(zip(rows, groups, strict=True)):
        start = len(ids) - prefix
        at += [start + position - 1 for member in group for position in member.positions]
        ids += row.ids[prefix:-1]  # the last token predicts nothing
        positions += range(prefix, len(row) - 1)
        owner += [number] * (len(row) - 1 - prefix)
    device = input_device(model)
    tokens = torch.tensor([ids], device=device)
    places: Places = (torch.zeros(len(at), dtype=torch.long), torch.tensor(at))
    mask = _block_mask(torch.tensor(owner, device=device), model.dtype)
    inputs: dict[str, Any] = {
        "input_ids": tokens,
        "attention_mask": mask,
        "position_ids": torch.tensor([positions], device=device),
    }
    chunks = _chunks([len(row) - 1 - prefix for row in rows])
    with (
        project_only(model.get_output_embeddings(), tokens, places) as projection,
        _InChunks(prefix, chunks, mask),
    ):
        logits: Tensor = model(**inputs, use_cache=False).logits
    return projection.logits_at_places(logits)


class _InChunks(TorchFunctionMode):
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
            outputs.append(scaled_dot_product_attention(q, k, v, attn_mask=mask, **options))
        return torch.cat(outputs, dim=-2)


def _chunks(suffixes: Sequence[int]) -> list[int]:
    """Sizes of chunks of whole suffixes."""
    chunks = [0]
    for suffix in suffixes:
        if chunks[-1] >= CHUNK:
            chunks.append(0)
        chunks[-1] += suffix
    return chunks


def _block_mask(owner: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to the attention scores: 0 where a token may look, else the lowest number."""
    seen = ((owner[:, None] == owner[None, :]) | (owner[None, :] < 0)).tril()
    mask = torch.zeros(seen.shape, dtype=dtype, device=owner.device)
    return mask.masked_fill(~seen, torch.finfo(dtype).min)[None, None]  # 1 1 token token


def has_full_attention(model: Model) -> bool:
    """Whether no layer has a window of its own, which a mask from outside would replace."""
    config = model.hf.config.get_text_config(decoder=True)
    windows = ("sliding_window", "attention_chunk_size", "window_size", "attention_window")
    kinds = getattr(config, "layer_types", None) or ["full_attention"]
    return set(kinds) == {"full_attention"} and not any(
        getattr(config, name, None) for name in windows
    )
