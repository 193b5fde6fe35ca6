"""The one place where Head Atlas meets the model: the attention functions of `transformers`.

A model asks `AttentionInterface.get_interface` for its attention function at every call. While a
listener is active, the function it gets is its own one followed by the listener, which sees the
head outputs (batch × position × head × d_head) and may replace them. The attention implementation
keeps its name, so masks and branches that depend on the name stay as they are. Watchers see the
attention weights (batch × head × query × key), which only eager attention gives.
`docs/decisions/attention-interface.md` says why no new name is registered.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from torch import Tensor, nn
from transformers import AttentionInterface

T = TypeVar("T")

Listener = Callable[[nn.Module, Tensor, Tensor], Tensor]
"""Takes the attention module, its keys and the head outputs; returns the outputs to use instead."""

WeightsWatcher = Callable[[nn.Module, Tensor | None], None]
"""Takes the attention module and its attention weights, `None` if the function gives none."""

METHOD = "get_interface"
_listeners: list[Listener] = []
_watchers: list[WeightsWatcher] = []
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
        for watcher in tuple(_watchers):
            watcher(module, others[0] if others else None)
        return z, *others

    return listened


def _get_interface(self: AttentionInterface, *args: Any, **kwargs: Any) -> Callable[..., Any]:
    return _with_listeners(_original_get_interface(self, *args, **kwargs))


def listening(listener: Listener) -> AbstractContextManager[None]:
    """Let `listener` see, and possibly replace, the output of every attention call."""
    return _registered(_listeners, listener)


def watching_weights(watcher: WeightsWatcher) -> AbstractContextManager[None]:
    """Let `watcher` see the attention weights of every attention call."""
    return _registered(_watchers, watcher)


@contextmanager
def _registered(functions: list[T], function: T) -> Iterator[None]:
    with _lock:
        functions.append(function)
        setattr(AttentionInterface, METHOD, _get_interface)
    try:
        yield
    finally:
        with _lock:
            functions.remove(function)
            if not (_listeners or _watchers):
                setattr(AttentionInterface, METHOD, _original_get_interface)
