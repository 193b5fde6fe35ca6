"""From the residual stream to logits: the final norm and the unembedding, as linear maps.

Found by running the model once and watching: h = N(x), where x is the output of the last block and
N a norm (or nothing), and logits = f · (W h + c). Where the model caps its logits, such as Gemma 2,
they are those before the cap, and f = 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headatlas.models.heads.closeness import relative_gap, tolerance
from headatlas.models.heads.watch import probe_tokens
from headatlas.models.run.frozen_norm import FrozenNorm
from headatlas.models.run.resuming import block_input
from headatlas.models.run.stream import blocks_of
from headatlas.models.run.writing import cannot_tell
from headatlas.models.weights import load_weight

if TYPE_CHECKING:
    from headatlas.models.model import Model

ROWS_AT_A_TIME = 2**14
"""Tokens of the vocabulary whose weights are in float32 at a time: bounds the memory."""


@dataclass(frozen=True)
class Unembedding:
    """The way from the last block's output to logits; `like` is in the format of the stream."""

    norm: FrozenNorm | None
    weight: Tensor
    bias: Tensor | None
    factor: float
    like: Tensor

    def scale_at(self, stream: Tensor) -> Tensor:
        """1 / σ of the final norm at states of the stream (… × d_model): …"""
        if self.norm is None:
            return torch.ones(stream.shape[:-1])
        return self.norm.scale_at(stream, self.like)

    def through_norm(self, parts: Tensor, scale: Tensor) -> Tensor:
        """What parts of the stream become in the final norm, without its bias."""
        return parts if self.norm is None else self.norm.apply(parts, scale)

    @property
    def constant(self) -> Tensor:
        """The final norm's bias, which reaches the logits with every stream: d_model."""
        return torch.zeros(self.weight.shape[1]) if self.norm is None else self.norm.bias

    def rows(self, tokens: list[int]) -> Tensor:
        """The directions that raise the logits of tokens: token × d_model."""
        return self.factor * self.weight[tokens].float().cpu()

    def offsets(self, tokens: list[int]) -> Tensor:
        """The unembedding's own bias of tokens."""
        if self.bias is None:
            return torch.zeros(len(tokens))
        return self.factor * self.bias[tokens].float().cpu()

    def mean_row(self) -> Tensor:
        """The direction that raises the mean logit: d_model."""
        total = sum((rows.sum(0) for _, rows in self._portions()), torch.zeros(()))
        return total / len(self.weight)

    def mean_offset(self) -> float:
        """The mean of the unembedding's own bias."""
        return 0.0 if self.bias is None else self.factor * float(self.bias.float().mean())

    def largest(self, vectors: Tensor, count: int, tokens: int) -> tuple[Tensor, Tensor]:
        """The largest logits of vectors (vector × d_model), among the first `tokens` of the
        vocabulary, and whose they are: vector × count each."""
        values, ids = torch.empty(len(vectors), 0), torch.empty(len(vectors), 0, dtype=torch.long)
        for start, rows in self._portions():
            rows = rows[: max(0, tokens - start)]
            if not len(rows):
                break
            logits, places = (vectors @ rows.T).topk(min(count, len(rows)))
            values, ids = torch.cat([values, logits], -1), torch.cat([ids, places + start], -1)
            values, kept = values.topk(min(count, values.shape[-1]))
            ids = ids.gather(-1, kept)
        return values, ids

    def _portions(self) -> Iterator[tuple[int, Tensor]]:
        for start in range(0, len(self.weight), ROWS_AT_A_TIME):
            rows = self.weight[start : start + ROWS_AT_A_TIME]
            yield start, self.factor * rows.float().cpu()


@torch.no_grad()
def unembedding_of(model: Model) -> Unembedding:
    """Find the final norm and the unembedding; raises if the way to the logits is another one."""
    head, blocks = model.hf.get_output_embeddings(), blocks_of(model)
    name = next((name for name, module in model.hf.named_modules() if module is head), None)
    if head is None or name is None or not blocks:
        raise cannot_tell(model, "its blocks or its unembedding are not found")
    seen = _Seen()
    with ExitStack() as stack:
        inside = {module for block in blocks for module in block.modules()}
        stack.callback(blocks[-1].register_forward_hook(seen.end_of_blocks).remove)
        for module in model.hf.modules():
            if module not in inside and module is not head:
                stack.callback(module.register_forward_hook(seen.after, with_kwargs=True).remove)
        stack.callback(head.register_forward_hook(seen.projected).remove)
        ids = probe_tokens(model.hf)
        out = model.hf(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False)
    stream, h, projected = seen.stream, seen.h, seen.projection
    if stream is None or h is None or projected is None:
        raise cannot_tell(model, "the stream at its end or its unembedding is not seen")
    weight = load_weight(model.hf, f"{name}.weight")
    has_bias = isinstance(getattr(head, "bias", None), Tensor)
    bias = load_weight(model.hf, f"{name}.bias") if has_bias else None
    made = h.float().cpu() @ weight.float().cpu().T
    made = made if bias is None else made + bias.float().cpu()
    if relative_gap(made, projected.float().cpu()) > tolerance(model):
        raise cannot_tell(model, "its unembedding is not one matrix")
    factor = _factor(projected, out.logits, tolerance(model))
    return Unembedding(_final_norm(model, seen, stream, h), weight, bias, factor, stream[:0])


@dataclass
class _Seen:
    """What was seen behind the blocks in one pass: the stream, h, and the modules between."""

    stream: Tensor | None = None
    h: Tensor | None = None
    projection: Tensor | None = None
    norms: tuple[tuple[nn.Module, Tensor], ...] = ()

    def end_of_blocks(self, module: nn.Module, args: Any, output: Any) -> None:
        first = output[0] if isinstance(output, tuple) else output
        self.stream = first.clone() if isinstance(first, Tensor) else None

    def after(self, module: nn.Module, args: Any, kwargs: Any, output: Any) -> None:
        given = block_input(args, kwargs)
        if self.stream is None or given is None or not isinstance(output, Tensor):
            return
        if given.shape == self.stream.shape and torch.equal(given, self.stream):
            self.norms = (*self.norms, (module, output.clone()))

    def projected(self, module: nn.Module, args: Any, output: Any) -> None:
        self.h = args[0].clone() if args else None
        self.projection = output.clone()


def _final_norm(model: Model, seen: _Seen, stream: Tensor, h: Tensor) -> FrozenNorm | None:
    if h.shape == stream.shape and torch.equal(h, stream):
        return None
    for module, output in seen.norms:
        if output.shape == h.shape and torch.equal(output, h):
            norm = FrozenNorm.of(module, stream[:0], tolerance(model))
            if norm is not None:
                return norm
    raise cannot_tell(model, "a single LayerNorm or RMSNorm is not all between blocks and logits")


def _factor(projected: Tensor, logits: Tensor, limit: float) -> float:
    """The constant that the model multiplies its logits by; 1 where it changes them otherwise."""
    before, after = projected.cpu().double().flatten(), logits.cpu().double().flatten()
    if before.shape != after.shape:
        return 1.0
    factor = float(before @ after / (before @ before))
    return factor if relative_gap(factor * before, after) <= limit else 1.0
