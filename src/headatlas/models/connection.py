"""Edits and readers on a running model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.cache_utils import Cache

from headatlas.models.edit import Edit
from headatlas.models.interface import listening
from headatlas.models.spec import LayerSpec, ModelSpec

Reader = Callable[[int, Tensor, int], None]
"""Takes a layer, its head outputs and the position of their first token."""


class Connection:
    """Shows a model's head outputs to readers and edits them, while either is active.

    `edit` is the edit that is active now, an empty one if there is none.
    """

    def __init__(self, hf: PreTrainedModel, spec: ModelSpec) -> None:
        self.hf, self.spec = hf, spec
        self.edit = Edit()
        self.readers: list[Reader] = []
        modules = dict(hf.named_modules())
        self._sites: list[tuple[int, LayerSpec, nn.Module]] = [
            (i, layer, modules[module if layer.site == "attention" else projection])
            for i, layer in enumerate(spec.layers)
            if layer
            for module, projection in ((layer.module, layer.projection), *layer.copies)
        ]
        self._layer_of = {
            module: i for i, layer, module in self._sites if layer.site == "attention"
        }
        self._offset = 0
        self._copies = False
        self._open = 0

    @contextmanager
    def editing(self, edit: Edit, copies: bool) -> Iterator[None]:
        """Run everything inside with the edit; see `Model.editing`."""
        edit.check(self.spec)
        before = self.edit, self._copies
        self.edit, self._copies = edit, copies
        try:
            with self._connected():
                yield
        finally:
            self.edit, self._copies = before

    @contextmanager
    def reading(self, reader: Reader) -> Iterator[None]:
        """Show `reader` the head outputs of everything that runs inside."""
        self.readers.append(reader)
        try:
            with self._connected():
                yield
        finally:
            self.readers.remove(reader)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Connect to the model while any edit or reader is active."""
        self._open += 1
        try:
            with ExitStack() as stack:
                if self._open == 1:
                    self._connect(stack)
                yield
        finally:
            self._open -= 1

    def _connect(self, stack: ExitStack) -> None:
        def at_attention(module: nn.Module, key: Tensor, z: Tensor) -> Tensor:
            layer = self._layer_of.get(module)
            return z if layer is None else self._transform(layer, z)

        def note_offset(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> None:
            past = kwargs.get("past_key_values")
            self._offset = int(past.get_seq_length()) if isinstance(past, Cache) else 0

        stack.enter_context(listening(at_attention))
        handle = self.hf.register_forward_pre_hook(note_offset, with_kwargs=True)
        stack.callback(handle.remove)
        for layer, spec, module in self._sites:
            if spec.site == "projection":
                stack.callback(self._hook_projection(layer, spec, module).remove)

    def _hook_projection(self, layer: int, spec: LayerSpec, module: nn.Module) -> Any:
        def at_projection(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            z = args[0].unflatten(-1, (spec.heads, spec.d_head))
            return (self._transform(layer, z).flatten(-2), *args[1:])

        return module.register_forward_pre_hook(at_projection)

    def _transform(self, layer: int, z: Tensor) -> Tensor:
        for reader in self.readers:
            reader(layer, z, self._offset)
        edit = self.edit.repeated(z.shape[0]) if self._copies else self.edit
        return edit.apply(z, layer, self._offset)
