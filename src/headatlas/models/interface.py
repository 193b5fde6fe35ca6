"""The one place where Head Atlas meets the model: the attention functions of `transformers`.

A model asks `AttentionInterface.get_interface` for its attention function at every call. While a
listener is active, the function it gets is its own one followed by the listener, which sees the
head outputs (batch × position × head × d_head) and may replace them. The attention implementation
keeps its name, so masks and branches that depend on the name stay as they are.
`docs/decisions/attention-interface.md` says why no new name is registered.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from transformers import AttentionInterface

Listener = Callable[[nn.Module, Tensor, Tensor], Tensor]
"""Takes the attention module, its keys and the head outputs; returns the outputs to use instead."""

METHOD = "get_interface"
_listeners: list[Listener] = []
_lock = threading.Lock()
_original_get_interface = AttentionInterface.get_interface


def _first(args: tuple[Any, ...], kwargs: dict[str, Any], index: int, name: str) -> Any:
    return args[index] if len(args) > index else kwargs[name]


def _with_listeners(attention: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(attention)
    def listened(*args: Any, **kwargs: Any) -> Any:
        z, *others = attention(*args, **kwargs)
        module = _first(args, kwargs, 0, "module")
        key = _first(args, kwargs, 2, "key")
        for listener in tuple(_listeners):
            z = listener(module, key, z)
        return z, *others

    return listened


def _get_interface(self: AttentionInterface, *args: Any, **kwargs: Any) -> Callable[..., Any]:
    return _with_listeners(_original_get_interface(self, *args, **kwargs))


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let `listener` see, and possibly replace, the output of every attention call."""
    with _lock:
        _listeners.append(listener)
        setattr(AttentionInterface, METHOD, _get_interface)
    try:
        yield
    finally:
        with _lock:
            _listeners.remove(listener)
            if not _listeners:
                setattr(AttentionInterface, METHOD, _original_get_interface)
