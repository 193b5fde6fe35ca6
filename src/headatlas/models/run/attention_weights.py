"""Reading attention weights: what every head attends to, by the model's own eager attention.

Fused attention gives no weights. While weights are read, the model runs its eager function, with
its own soft cap, sinks and windows; then everything is as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig, PreTrainedModel

from headatlas.errors import ModelError
from headatlas.models.inputs import check_rows_of_ids
from headatlas.models.interface import watching_weights
from headatlas.models.run.passes import logits_at, nowhere, pad_right

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.models.spec import ModelSpec

AttentionReader = Callable[[int, Tensor], None]
"""Takes a layer and its attention weights: batch × head × query × key."""

RowReader = Callable[[int, int, Tensor], None]
"""Takes the number of a row, a layer, and the row's attention weights: head × query × key."""

EAGER = "eager"
MOST_WEIGHTS = 2**24
"""Attention weights of one layer in one pass: bounds the memory. A longer row runs alone."""


def check_shows_attention(spec: ModelSpec) -> None:
    """Raise unless the attention of all layers can be read."""
    if any(layer and layer.site != "attention" for layer in spec.layers):
        raise ModelError(
            f"the attention weights of {spec.name} cannot be read, as {spec.architecture} does not "
            "hand its heads' outputs straight from the attention functions of transformers to the "
            "output projection: use another method or model."
        )


@contextmanager
def reading_attention(model: Model, reader: AttentionReader) -> Iterator[None]:
    """Show `reader` the attention weights of everything that runs inside, with eager attention."""
    check_shows_attention(model.spec)
    modules = dict(model.hf.named_modules())
    layer_of = {
        modules[module]: number
        for number, layer in enumerate(model.spec.layers)
        if layer
        for module, _ in ((layer.module, layer.projection), *layer.copies)
    }

    def watch(module: nn.Module, weights: Tensor | None) -> None:
        if module not in layer_of:
            return
        layer = layer_of[module]
        if (
            weights is None
            or weights.ndim != 4
            or weights.shape[1] != model.spec.layer(layer).heads
        ):
            raise ModelError(
                f"the eager attention of {model.spec.architecture} gives no weights per head: use "
                "another method or model."
            )
        reader(layer, weights.detach())

    with eager_attention(model.hf), watching_weights(watch):
        yield


@contextmanager
def eager_attention(hf: PreTrainedModel) -> Iterator[None]:
    """Run everything inside with eager attention; then every configuration is as before."""
    before = [(config, config._attn_implementation_internal) for config in _configs(hf)]
    try:
        if any(implementation != EAGER for _, implementation in before):
            hf.set_attn_implementation(EAGER)
        if hf.config.get_text_config(decoder=True)._attn_implementation != EAGER:
            raise ModelError(f"{type(hf).__name__} cannot be switched to eager attention.")
        yield
    finally:
        for config, implementation in before:
            config._attn_implementation_internal = implementation


def _configs(hf: PreTrainedModel) -> list[PreTrainedConfig]:
    """The configurations of a model, of its parts, and those inside them, each once."""
    found: dict[int, PreTrainedConfig] = {}
    waiting = [getattr(module, "config", None) for module in hf.modules()]
    while waiting:
        config = waiting.pop()
        if isinstance(config, PreTrainedConfig) and id(config) not in found:
            found[id(config)] = config
            waiting += [getattr(config, name, None) for name in config.sub_configs]
    return list(found.values())


@torch.no_grad()
def read_attention(model: Model, rows: Sequence[Sequence[int]], reader: RowReader) -> None:
    """Show `reader` the attention weights of every row and layer, without padding.

    Rows run in batches, shortest first, whose weights fill bounded memory for one layer at a time.
    A layer whose heads are used several times is shown as often.
    """
    check_rows_of_ids(model, rows)
    for numbers in _batches([len(row) for row in rows], model.spec.n_heads):
        ids, mask = pad_right([rows[i] for i in numbers], model.device)

        def show(layer: int, weights: Tensor, numbers: list[int] = numbers) -> None:
            for number, own in zip(numbers, weights, strict=True):
                length = len(rows[number])
                reader(number, layer, own[:, :length, :length])  # head query key

        with model.reading_attention(show):
            logits_at(model.hf, ids, mask, nowhere(model.device))


def _batches(lengths: Sequence[int], heads: int) -> Iterator[list[int]]:
    """Numbers of the rows that run together, so that one layer has at most `MOST_WEIGHTS`."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (len(batch) + 1) * heads * lengths[number] ** 2 > MOST_WEIGHTS:
            yield batch
            batch = []
        batch.append(number)
    yield batch
