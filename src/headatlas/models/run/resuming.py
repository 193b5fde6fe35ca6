"""Passes that begin in the middle: what runs below the first edited block is computed once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headatlas.models.run.stream import blocks_of

if TYPE_CHECKING:
    from headatlas.models.model import Model

MOST_BYTES = 2**30
"""Memory that all kept streams of a sweep may take; with less room, fewer blocks are kept."""


class KeptStream:
    """The residual stream of one batch at the input of the blocks, from a pass without edits.

    Blocks that are left out of a pass return a state of the right shape, which the first block that
    runs replaces by the kept one. Whether a model is the same with blocks left out is tested on the
    model itself: `Model.resumes`.
    """

    def __init__(self, model: Model, streams: int = 1) -> None:
        self._share = MOST_BYTES // streams
        self._blocks = blocks_of(model)
        self._states: dict[int, Tensor] = {}
        self._outputs: dict[int, Any] = {}

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Keep the states of the one pass that runs inside."""
        stride = 1
        with ExitStack() as stack:
            for number, block in enumerate(self._blocks):

                def keep(module: nn.Module, args: Any, kwargs: Any, number: int = number) -> None:
                    nonlocal stride
                    state = block_input(args, kwargs)
                    if number == 0 and state is not None:
                        total = state.numel() * state.element_size() * len(self._blocks)
                        stride = max(1, -(-total // max(1, self._share)))
                    if state is not None and number % stride == 0 and number not in self._states:
                        self._states[number] = state.detach()

                def note(module: nn.Module, args: Any, output: Any, number: int = number) -> None:
                    rest = output[1:] if isinstance(output, tuple) else None
                    self._outputs[number] = rest

                stack.callback(block.register_forward_pre_hook(keep, with_kwargs=True).remove)
                stack.callback(block.register_forward_hook(note).remove)
            yield

    def nearest(self, block: int) -> int:
        """The last block up to this one whose input is kept; 0 if none is."""
        return max((number for number in self._states if number <= block), default=0)

    @contextmanager
    def resuming(self, block: int, copies: int) -> Iterator[None]:
        """Run passes over `copies` of the batch from this block on; its input must be kept."""
        if block == 0:
            yield
            return
        state = self._states[block]

        def enter(module: nn.Module, args: Any, kwargs: Any) -> Any:
            kept = state.repeat(copies, *[1] * (state.ndim - 1))
            if args:
                return (kept, *args[1:]), kwargs
            return args, {**kwargs, "hidden_states": kept}

        with ExitStack() as stack:
            for number in range(block):
                stack.enter_context(_left_out(self._blocks[number], self._outputs[number]))
            handle = self._blocks[block].register_forward_pre_hook(enter, with_kwargs=True)
            stack.callback(handle.remove)
            yield


def block_input(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """The residual stream among the arguments of a block."""
    state = args[0] if args else kwargs.get("hidden_states")
    return state if isinstance(state, torch.Tensor) else None


@contextmanager
def _left_out(block: nn.Module, further_outputs: tuple[Any, ...] | None) -> Iterator[None]:
    """Make a block return its input unchanged, in the format of its usual output."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        state = block_input(args, kwargs)
        return state if further_outputs is None else (state, *further_outputs)

    before = vars(block).get("forward")  # accelerate puts one there
    block.forward = forward
    try:
        yield
    finally:
        if before is None:
            del block.forward
        else:
            block.forward = before
