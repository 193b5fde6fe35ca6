"""The residual stream: what every block of a model reads and adds to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

if TYPE_CHECKING:
    from headatlas.models.model import Model

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How far into a model its residual stream is read, as shares of its blocks; 0: the embeddings."""

Watcher = Callable[[int, Tensor], None]
"""Takes a depth and the residual stream there: batch × position × d_model."""


def stream_depths(model: Model) -> list[int]:
    """The numbers of blocks after which the stream is read; empty if the blocks are not found."""
    count = len(blocks_of(model))
    return sorted({round(share * count) for share in SHARES}) if count else []


@contextmanager
def watching_stream(model: Model, watcher: Watcher) -> Iterator[None]:
    """Show `watcher` the stream of every pass that runs inside, at the model's `stream_depths`.

    Depth 0 is the input of the first block (embeddings, with positions where the model adds them);
    depth d is the input of block d, and the last depth is the output of the last block.
    """
    blocks = blocks_of(model)
    with ExitStack() as stack:
        for depth in stream_depths(model):
            if depth < len(blocks):
                handle = blocks[depth].register_forward_pre_hook(
                    _input_hook(depth, watcher), with_kwargs=True
                )
            else:
                handle = blocks[-1].register_forward_hook(_output_hook(depth, watcher))
            stack.callback(handle.remove)
        yield


def _input_hook(depth: int, watcher: Watcher) -> Callable[..., None]:
    def show(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        hidden = args[0] if args else kwargs.get("hidden_states")
        if isinstance(hidden, Tensor):
            watcher(depth, hidden)

    return show


def _output_hook(depth: int, watcher: Watcher) -> Callable[..., None]:
    def show(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        hidden = output[0] if isinstance(output, tuple) else output
        if isinstance(hidden, Tensor):
            watcher(depth, hidden)

    return show


def blocks_of(model: Model) -> list[nn.Module]:
    """The blocks of a model: the list of modules that its attention layers are entries of."""
    for layer in model.spec.layers:
        if layer and (found := _container(model, layer.module)):
            return list(found[0])
    return []


def block_number(model: Model, path: str) -> int | None:
    """The number of the block that an attention module is part of; `None` if it is in none."""
    found = _container(model, path)
    return found[1] if found and list(found[0]) == blocks_of(model) else None


def first_block(model: Model, layers: Sequence[int]) -> int:
    """The number of the first block that any of these layers' heads are used in; 0 if unknown."""
    numbers = []
    for number in layers:
        layer = model.spec.layer(number)
        for module, _ in ((layer.module, layer.projection), *layer.copies):
            found = _container(model, module)
            numbers.append(found[1] if found else 0)
    return min(numbers)


def _container(model: Model, path: str) -> tuple[nn.ModuleList, int] | None:
    """The list of blocks that an attention module is part of, and its number in the list."""
    parts = path.split(".")
    for place, word in enumerate(parts):
        if word.isdigit():
            container = model.hf.get_submodule(".".join(parts[:place]))
            if isinstance(container, nn.ModuleList):
                return container, int(word)
    return None
