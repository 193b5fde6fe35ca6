"""The weights of a model, wherever they are.

With a device map, accelerate may keep weights in main memory or on disk and load them only while
their module runs. Until then the module holds an empty tensor on torch's `meta` device; the numbers
are in the `weights_map` of a hook of the module, or of one around it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from accelerate.hooks import (  # type: ignore[import-untyped]
    AlignDevicesHook,
    SequentialHook,
)
from torch import Tensor, nn
from torch.func import functional_call
from transformers import PreTrainedModel

from headatlas.errors import ModelError


def input_device(model: PreTrainedModel) -> torch.device:
    """The device that a model's inputs go to: that of its first weight when it runs."""
    if model.device.type != "meta":
        return model.device
    hooks = (hook for module in model.modules() for hook in _offload_hooks(module))
    device = next((hook.execution_device for hook in hooks), None)
    return torch.device("cpu" if device is None else device)


def weight_names(model: PreTrainedModel) -> list[str]:
    """The names of all parameters and buffers; a tensor with several names is listed once.

    Offloaded tensors that are tied to each other are told by the model, as each is empty by itself.
    """
    seen: set[str] = set()
    names: list[str] = []
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        source = _source(model, name)
        if tensor.is_meta and source in seen:
            continue
        seen.add(source)
        names.append(name)
    return names


def count_parameters(model: PreTrainedModel) -> int:
    """The number of parameters, tied ones counted once."""
    parameters = dict(model.named_parameters())
    return sum(parameters[name].numel() for name in weight_names(model) if name in parameters)


def load_weight(model: PreTrainedModel, name: str) -> Tensor:
    """A parameter or buffer with its numbers, by name; loaded if it is offloaded."""
    tensor = _stored(model, name)
    if not tensor.is_meta:
        return tensor
    for candidate in (name, *_tied(model, name)):
        for hook, key in _hooks_around(model, candidate):
            if key in hook.weights_map:
                value: Tensor = hook.weights_map[key]
                return value
    raise ModelError(f"the weight {name} has no numbers: it is on the meta device, without a hook.")


def load_state(model: PreTrainedModel) -> dict[str, Tensor]:
    """The state dictionary with all numbers; tied weights are one tensor."""
    state: dict[str, Tensor] = {}
    loaded: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        if not tensor.is_meta:
            state[name] = tensor
            continue
        source = _source(model, name)
        if source not in loaded:
            loaded[source] = load_weight(model, name)
        state[name] = loaded[source]
    return state


def same_weight_key(model: PreTrainedModel, name: str) -> object:
    """Equal for two names of one weight, and for nothing else."""
    tensor = _stored(model, name)
    return _source(model, name) if tensor.is_meta else tensor


def call_with_weights(
    model: PreTrainedModel, weights: Mapping[str, Tensor], inputs: dict[str, Any]
) -> Any:
    """Run the model with some weights replaced, by name; the model itself is not changed."""
    offloaded = {name: value for name, value in weights.items() if _stored(model, name).is_meta}
    present = {name: value for name, value in weights.items() if name not in offloaded}
    with _loading_instead(model, offloaded):
        return functional_call(model, present, (), inputs)


@contextmanager
def _loading_instead(model: PreTrainedModel, weights: Mapping[str, Tensor]) -> Iterator[None]:
    """Let hooks load these weights instead of their own."""
    before: list[tuple[AlignDevicesHook, Any]] = []
    try:
        for name, value in weights.items():
            for each_name in (name, *_tied(model, name)):
                for hook, key in _hooks_around(model, each_name):
                    before.append((hook, hook.weights_map))
                    hook.weights_map = ChainMap({key: value}, hook.weights_map)
        yield
    finally:
        for hook, weights_map in reversed(before):
            hook.weights_map = weights_map


def _stored(model: PreTrainedModel, name: str) -> Tensor:
    """What a module holds under a name: a tensor, maybe an empty one."""
    path, _, last = name.rpartition(".")
    tensor: Tensor = getattr(model.get_submodule(path), last)
    return tensor


def _tied_names(model: PreTrainedModel) -> dict[str, str]:
    """Names of weights that are others under a second name."""
    return dict(getattr(model, "all_tied_weights_keys", None) or {})


def _source(model: PreTrainedModel, name: str) -> str:
    return _tied_names(model).get(name, name)


def _tied(model: PreTrainedModel, name: str) -> list[str]:
    """The other names of a weight."""
    tied = _tied_names(model)
    source = tied.get(name, name)
    names = [source, *(target for target, other in tied.items() if other == source)]
    return [other for other in names if other != name]


def _hooks_around(model: PreTrainedModel, name: str) -> Iterator[tuple[AlignDevicesHook, str]]:
    """Offloading hooks of the module of a weight and of those around it, with the weight's key."""
    path = name
    while path:
        path = path.rpartition(".")[0]
        key = name.removeprefix(f"{path}.") if path else name
        for hook in _offload_hooks(model.get_submodule(path)):
            yield hook, key


def _offload_hooks(module: nn.Module) -> list[AlignDevicesHook]:
    hook = getattr(module, "_hf_hook", None)
    hooks = hook.hooks if isinstance(hook, SequentialHook) else [hook]
    return [
        hook
        for hook in hooks
        if isinstance(hook, AlignDevicesHook) and hook.offload and hook.weights_map is not None
    ]
