"""Find where a model's heads are, by running it and watching.

Nothing here knows an architecture by name. The output projection of an attention call is the one
that consumes its result; which of its columns belong to which head is measured, not assumed.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headatlas.errors import ModelError
from headatlas.models.heads.watch import Attention, Event, Projection, Weighting, watch
from headatlas.models.spec import LayerSpec
from headatlas.models.weights import same_weight_key


def survey(model: PreTrainedModel) -> tuple[LayerSpec | None, ...]:
    """Describe the attention of every layer; `None` for layers without attention heads."""
    events = watch(model)
    if any(isinstance(event, Attention) for event in events):
        specs = _through_interface(model, events)
    elif any(isinstance(event, Weighting) for event in events):
        specs = _outside_interface(model, events)
    else:
        raise ModelError(
            f"no attention heads were found in {type(model).__name__}: Head Atlas maps models with "
            "attention layers."
        )
    if not specs:
        raise ModelError(
            f"the heads of {type(model).__name__} cannot be told apart: no single matrix projects "
            "their outputs, each in columns of its own."
        )
    return _by_layer(model, specs)


def head_columns(module: nn.Module, weight: Tensor) -> Tensor:
    """A view of a projection's weight with its input columns last (GPT-2 stores them first)."""
    return weight.T if type(module).__name__ == "Conv1D" else weight


def _input_width(event: Projection) -> int:
    weight = cast("Tensor", event.module.weight)
    return head_columns(event.module, weight).shape[-1]


# -- models that call the attention interface ----------------------------------------------------


def _through_interface(model: PreTrainedModel, events: list[Event]) -> dict[str, LayerSpec]:
    """Attention by module path, in the order of the calls.

    Where something stands between the attention call and the projection, one module of each class
    is measured: an elementwise gate leaves the edit at the attention call, a normalisation over
    heads moves it to the projection.
    """
    specs: dict[str, LayerSpec] = {}
    sites: dict[type[nn.Module], str | None] = {}
    for index, event in enumerate(events):
        if not isinstance(event, Attention) or event.path in specs:
            continue
        projection = _consumer(event, events[index + 1 :])
        if projection is None:
            continue
        kind = type(event.module)
        if kind not in sites:
            direct = torch.equal(projection.x.flatten(), event.z.flatten())
            sites[kind] = "attention" if direct else _measured_site(model, event, projection)
        if site := sites[kind]:
            heads, d_head = event.z.shape[2:]
            specs[event.path] = LayerSpec(
                heads, event.kv_heads, d_head, event.path, projection.path, site
            )
    return specs


def _consumer(attention: Attention, later: list[Event]) -> Projection | None:
    """The output projection of an attention call.

    It is the projection that gets the call's result as it is; or, where the result is gated or
    normalised first, the last one of that width inside the attention module.
    """
    size = attention.z[0, 0].numel()
    inside: Projection | None = None
    for event in later:
        if isinstance(event, Attention):
            break
        if not isinstance(event, Projection) or _input_width(event) != size:
            continue
        if torch.equal(event.x.flatten(), attention.z.flatten()):
            return event
        if event.path.startswith(attention.path + "."):
            inside = event
    return inside


def _measured_site(
    model: PreTrainedModel, attention: Attention, projection: Projection
) -> str | None:
    """Where to edit, from what zeroing the first head at the attention call does further on.

    Just its own columns become zero: "attention". They become zero, and others change as well:
    "projection". Anything else: this is not the projection of these heads.
    """

    def zero_first_head(module: nn.Module, z: Tensor) -> Tensor:
        if module is not attention.module:
            return z
        keep = torch.ones_like(z)
        keep[:, :, 0] = 0
        return z * keep

    events = watch(model, change=zero_first_head)
    shape = attention.z.shape[2:]
    before = projection.x.unflatten(-1, shape)
    after = _first_input(events, projection.path).unflatten(-1, shape)
    if after[..., 0, :].any() or not before[..., 0, :].any():
        return None
    others = torch.allclose(after[..., 1:, :], before[..., 1:, :], rtol=1e-4, atol=1e-6)
    return "attention" if others else "projection"


def _first_input(events: list[Event], path: str) -> Tensor:
    return next(e.x for e in events if isinstance(e, Projection) and e.path == path)


# -- models with attention of their own ----------------------------------------------------------


def _outside_interface(model: PreTrainedModel, events: list[Event]) -> dict[str, LayerSpec]:
    """Attention by projection path, for models that compute it without the interface.

    One weighting of each kind (number of heads and class around its projection) is measured: every
    head is made stronger in turn, and the columns that change at the projection are its columns.
    """
    specs: dict[str, LayerSpec] = {}
    heads_of: dict[tuple[int, type[nn.Module], str], int | None] = {}
    modules = dict(model.named_modules())
    config = model.config.get_text_config(decoder=True)
    for index, event in enumerate(events):
        if not isinstance(event, Weighting):
            continue
        for projection in _until_next_weighting(events[index + 1 :]):
            owner, _, name = projection.path.rpartition(".")
            kind = (event.heads, type(modules[owner]), name)
            if kind not in heads_of:
                heads_of[kind] = _measured_heads(model, event, projection)
            if heads := heads_of[kind]:
                kv_heads = getattr(config, "num_key_value_heads", None) or heads
                specs[projection.path] = LayerSpec(
                    heads,
                    kv_heads if heads % kv_heads == 0 else heads,
                    projection.x.shape[-1] // heads,
                    owner,
                    projection.path,
                    "projection",
                )
                break
    return specs


def _until_next_weighting(later: list[Event]) -> list[Projection]:
    projections: list[Projection] = []
    for event in later:
        if isinstance(event, Weighting):
            break
        if isinstance(event, Projection) and event.x.ndim == 3:
            projections.append(event)
    return projections


def _measured_heads(
    model: PreTrainedModel, weighting: Weighting, projection: Projection
) -> int | None:
    """The number of heads in the projection's input, one block of columns each; `None` if mixed."""
    blocks: set[tuple[int, ...]] = set()
    for head in range(weighting.heads):
        events = watch(model, scale_head=(weighting.number, head))
        change = (_first_input(events, projection.path) != projection.x).flatten(0, -2).any(0)
        blocks.add(tuple(change.nonzero().flatten().tolist()))
    if len(blocks) != weighting.heads:
        return None
    width = projection.x.shape[-1]
    size = width // len(blocks)
    wanted = {tuple(range(start, start + size)) for start in range(0, width, size)}
    return len(blocks) if blocks == wanted else None


# -- layers --------------------------------------------------------------------------------------


def _by_layer(model: PreTrainedModel, specs: dict[str, LayerSpec]) -> tuple[LayerSpec | None, ...]:
    """Put attention modules at their layers.

    The number in a module's path is its layer, unless several modules share one (models with more
    than one stack, or several attention modules per layer): then layers count attention calls.
    """
    specs = _join_copies(model, specs)
    total = getattr(model.config.get_text_config(decoder=True), "num_hidden_layers", 0)
    numbers = {path: re.findall(r"\.(\d+)(?=\.|$)", path) for path in specs}
    first = Counter(int(parts[0]) if parts else -1 for parts in numbers.values())
    if max(first.values()) > 1 or min(first) < 0 or max(first) >= total:
        return tuple(specs.values())
    layers: list[LayerSpec | None] = [None] * total
    for path, spec in specs.items():
        layers[int(numbers[path][0])] = spec
    return tuple(layers)


def _join_copies(model: PreTrainedModel, specs: dict[str, LayerSpec]) -> dict[str, LayerSpec]:
    """Modules that share their output projection's weight are one set of heads, at the first."""
    owners: dict[object, str] = {}
    joined: dict[str, LayerSpec] = {}
    for path, spec in specs.items():
        owner = owners.setdefault(same_weight_key(model, f"{spec.projection}.weight"), path)
        if owner == path:
            joined[path] = spec
        else:
            copies = (*joined[owner].copies, (spec.module, spec.projection))
            joined[owner] = replace(joined[owner], copies=copies)
    return joined
