"""Run a model once and record what its attention and its projections do, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import PreTrainedModel

from headatlas.models.interface import listening
from headatlas.models.weights import input_device


@dataclass
class Attention:
    """One attention call; `z` is batch × position × head × d_head."""

    module: nn.Module
    path: str
    kv_heads: int
    z: Tensor


@dataclass
class Weighting:
    """One softmax over keys, or one fused attention, outside the attention interface."""

    number: int
    heads: int


@dataclass
class Projection:
    """One call of a module with a weight matrix, and its input."""

    module: nn.Module
    path: str
    x: Tensor


Event = Attention | Weighting | Projection
ChangeAttention = Callable[[nn.Module, Tensor], Tensor]


def probe_tokens(model: PreTrainedModel, rows: int = 1, length: int = 8) -> Tensor:
    """Token ids that exercise a model when no text is at hand: row × position."""
    vocabulary = model.config.get_text_config(decoder=True).vocab_size
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(min(3, vocabulary - 1), vocabulary, (rows, length), generator=generator)
    return ids.to(input_device(model))


def is_projection(module: nn.Module) -> bool:
    """Whether the module multiplies its input by a weight matrix."""
    weight = getattr(module, "weight", None)
    is_matrix = isinstance(weight, Tensor) and weight.ndim == 2
    return is_matrix and not isinstance(module, nn.Embedding) and not list(module.children())


@torch.no_grad()
def watch(
    model: PreTrainedModel,
    *,
    change: ChangeAttention | None = None,
    scale_head: tuple[int, int] | None = None,
) -> list[Event]:
    """The events of one short forward pass.

    `change` replaces head outputs at the attention interface. `scale_head` = (number, head) makes
    one head of one weighting outside the interface scaled by 1.5.
    """
    paths = {module: path for path, module in model.named_modules()}
    events: list[Event] = []

    def see_attention(module: nn.Module, key: Tensor, z: Tensor) -> Tensor:
        if module not in paths or z.ndim != 4:
            return z
        events.append(Attention(module, paths[module], key.shape[1], z))
        return change(module, z) if change else z

    def see_projection(module: nn.Module, x: Tensor) -> None:
        events.append(Projection(module, paths[module], x))

    ids = probe_tokens(model)
    weightings = _Weightings(events, ids.shape[1], scale_head)
    with listening(see_attention), _projection_hooks(model, see_projection), weightings:
        model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False)
    return events


@contextmanager
def _projection_hooks(
    model: PreTrainedModel, see: Callable[[nn.Module, Tensor], None]
) -> Iterator[None]:
    def hook(module: nn.Module, args: tuple[Any, ...]) -> None:
        if args and isinstance(args[0], Tensor):
            see(module, args[0])

    with ExitStack() as stack:
        for module in model.modules():
            if is_projection(module):
                stack.callback(module.register_forward_pre_hook(hook).remove)
        yield


class _Weightings(TorchFunctionMode):
    """Notes every softmax over keys and every fused attention: [batch ×] head × query × …"""

    def __init__(self, events: list[Event], length: int, scale: tuple[int, int] | None) -> None:
        super().__init__()
        self.events, self.length, self.scale = events, length, scale
        self.count = 0

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name not in ("softmax", "scaled_dot_product_attention") or not isinstance(out, Tensor):
            return out
        if out.ndim not in (3, 4) or out.shape[-2] < self.length or out.shape[-3] == 1:
            return out  # one head alone cannot be told from a router's softmax over experts
        number, self.count = self.count, self.count + 1
        heads = out.shape[-3]
        self.events.append(Weighting(number, heads))
        if self.scale and self.scale[0] == number:
            factor = torch.ones(heads, 1, 1, dtype=out.dtype, device=out.device)
            factor[self.scale[1]] = 1.5
            return out * factor
        return out
