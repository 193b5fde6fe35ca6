"""How attention gets into the residual stream: as it is, times a constant, or through a norm.

Found by running the model once and watching: a block turns x into y = x + s · a + t · m, where a is
the output o of the attention's output projection, or that of a module N which o passes through
(Gemma 2, OLMo 2), and m the output of another module, such as the MLP. With s = t = 1, or constants
(Granite), and in every block, what is added to the stream stays in it until the last block's end.
Elsewhere, such as in models that normalise the stream itself, no head has a direct path.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headatlas.errors import ModelError
from headatlas.models.heads.closeness import NOT_SUPPORTED, relative_gap, tolerance
from headatlas.models.heads.watch import probe_tokens
from headatlas.models.run.frozen_norm import FrozenNorm
from headatlas.models.run.resuming import block_input
from headatlas.models.run.stream import block_number, blocks_of

if TYPE_CHECKING:
    from headatlas.models.model import Model

STREAM_ROUNDING = 8
"""Rounding errors of the stream, in units of the last digit, that a sum of three may have."""

LEAST_SCALE = 1e-3
"""A constant below this means that the attention is not part of the sum."""


@dataclass(frozen=True)
class WritePath:
    """How a layer's projected attention o gets into the stream: `scale` · o, or · `norm`(o)."""

    scale: float
    norm: FrozenNorm | None
    like: Tensor

    def written(self, parts: Tensor, output: Tensor) -> Tensor:
        """What parts of the projection's output (row × part × d_model) put into the stream.

        A norm has the scale that it has on the whole `output` (row × d_model), so that the parts
        of it add up. All are in float32.
        """
        if self.norm is None:
            return self.scale * parts
        scale = self.norm.scale_at(output, self.like)[:, None]  # row 1
        return self.scale * self.norm.apply(parts, scale)


@dataclass
class _Call:
    """One call of a module inside a block."""

    module: nn.Module
    input: Tensor | None
    output: Tensor

    def is_norm_of(self, output: Tensor, limit: float) -> bool:
        """Whether the module took this output alone, and acts on every position by itself."""
        if self.input is None or not torch.equal(self.input.flatten(), output.flatten()):
            return False
        try:
            last = self.module(self.input[..., -1:, :])
        except NOT_SUPPORTED:
            return False
        return relative_gap(last, self.output[..., -1:, :]) <= limit


@dataclass
class _Block:
    """What a block was seen to do: the stream before and after it, and the calls inside."""

    before: list[Tensor] = field(default_factory=list)
    after: list[Tensor] = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)


@torch.no_grad()
def write_paths(model: Model) -> dict[int, WritePath]:
    """The path into the stream of every layer with heads; raises if any cannot be told."""
    blocks = blocks_of(model)
    layer_in: dict[int, int] = {}
    for number, spec in enumerate(model.spec.layers):
        if spec is None:
            continue
        place = block_number(model, spec.module)
        if place is None or place in layer_in or spec.copies:
            raise cannot_tell(model, f"layer {number} is not the attention of one block of its own")
        layer_in[place] = number
    with _watching(blocks) as seen:
        ids = probe_tokens(model.hf)
        model.hf(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False)
    _check_sequence(model, seen)
    paths = {}
    for place, block in enumerate(seen):
        if place not in layer_in:
            if not _keeps_stream(model, block):
                raise cannot_tell(model, f"block {place} does not add to the residual stream")
            continue
        layer = layer_in[place]
        path = _path(model, block, model.hf.get_submodule(model.spec.layer(layer).projection))
        if path is None:
            raise cannot_tell(
                model,
                f"block {place} does not add its attention's output to the residual stream as it "
                "is, times a constant or through one norm",
            )
        paths[layer] = path
    return paths


def cannot_tell(model: Model, reason: str) -> ModelError:
    """The error for a model whose heads have no direct path that is known."""
    return ModelError(
        f"what heads of {model.spec.name} ({model.spec.architecture}) write directly cannot be "
        f"told, as {reason}: use ablation instead."
    )


def _check_sequence(model: Model, seen: list[_Block]) -> None:
    """Raise unless every block ran once, on what the one before it gave."""
    once = all(len(block.before) == len(block.after) == 1 for block in seen)
    if not seen or not once:
        raise cannot_tell(model, "its blocks do not run once each on one residual stream")
    for number, block in enumerate(seen):
        x, y = block.before[0], block.after[0]
        follows = number == 0 or torch.equal(x, seen[number - 1].after[0])
        if x.ndim != 3 or x.shape != y.shape or not follows:
            raise cannot_tell(model, f"block {number} does not take over the residual stream")


@contextmanager
def _watching(blocks: list[nn.Module]) -> Iterator[list[_Block]]:
    """Record what blocks do; tensors are copied, as some models add to them in place."""
    seen = [_Block() for _ in blocks]
    with ExitStack() as stack:
        for block, record in zip(blocks, seen, strict=True):

            def enter(module: nn.Module, args: Any, kwargs: Any, record: _Block = record) -> None:
                if (state := block_input(args, kwargs)) is not None:
                    record.before.append(state.clone())

            def leave(module: nn.Module, args: Any, output: Any, record: _Block = record) -> None:
                if (state := _first_tensor(output)) is not None:
                    record.after.append(state.clone())

            def note(
                module: nn.Module, args: Any, kwargs: Any, output: Any, record: _Block = record
            ) -> None:
                given, result = block_input(args, kwargs), _first_tensor(output)
                size = record.before[-1].numel() if record.before else 0
                if result is not None and result.numel() == size:
                    given = given.clone() if given is not None else None
                    record.calls.append(_Call(module, given, result.clone()))

            stack.callback(block.register_forward_pre_hook(enter, with_kwargs=True).remove)
            stack.callback(block.register_forward_hook(leave).remove)
            for module in list(block.modules())[1:]:
                stack.callback(module.register_forward_hook(note, with_kwargs=True).remove)
        yield seen


def _first_tensor(output: Any) -> Tensor | None:
    first = output[0] if isinstance(output, tuple) and output else output
    return first if isinstance(first, Tensor) else None


def _path(model: Model, block: _Block, projection: nn.Module) -> WritePath | None:
    """How the projection's output gets into the stream; `None` if that cannot be told."""
    x, y = block.before[0], block.after[0]
    own = [call.output for call in block.calls if call.module is projection]
    if len(own) != 1:
        return None
    through = [call for call in block.calls if call.is_norm_of(own[0], tolerance(model))]
    norms = [(FrozenNorm.of(call.module, x[:0], tolerance(model)), call) for call in through]
    candidates = [(None, own[0]), *((norm, call.output) for norm, call in norms if norm)]
    for free in (False, True):
        for norm, added in candidates:
            for others in ((), *((call.output,) for call in block.calls)):
                constants = _constants(model, x, y, [added, *others], free=free)
                if constants and abs(constants[0]) > LEAST_SCALE:
                    return WritePath(constants[0], norm, x[:0])
    return None


def _keeps_stream(model: Model, block: _Block) -> bool:
    """Whether a block without heads adds the outputs of up to two modules to the stream."""
    x, y = block.before[0], block.after[0]
    outputs = [call.output for call in block.calls]
    sums = [[], *([one] for one in outputs), *map(list, combinations(outputs, 2))]
    return any(
        _constants(model, x, y, terms, free=free) is not None
        for free in (False, True)
        for terms in sums
    )


def _constants(
    model: Model, x: Tensor, y: Tensor, terms: list[Tensor], *, free: bool = False
) -> list[float] | None:
    """Constants c with y = x + Σ c · term, all 1 unless `free`; `None` if there are none."""
    eps = torch.finfo(model.hf.dtype).eps
    before, after = x.cpu().double().flatten(), y.cpu().double().flatten()
    columns = [term.cpu().double().flatten() for term in terms]
    rounding = STREAM_ROUNDING * eps * (before.abs() + after.abs())
    constants = [1.0] * len(terms)
    if free and columns:
        weight = 1 / (rounding + torch.finfo(torch.float64).tiny).clamp_min(1e-30)
        table = torch.stack(columns, -1) * weight[:, None]
        solution = torch.linalg.lstsq(table.cpu(), ((after - before) * weight).cpu()[:, None])
        constants = solution.solution[:, 0].tolist()
    parts = [c * column for c, column in zip(constants, columns, strict=True)]
    rest = (after - before - sum(parts)).abs()
    size = sum((part.abs() for part in parts), torch.zeros_like(rest))
    return constants if bool((rest <= tolerance(model) * size + rounding).all()) else None
