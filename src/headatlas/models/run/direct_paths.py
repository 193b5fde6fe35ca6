"""What every head adds to the logits directly, past all later layers.

The stream behind the last block is a sum: x = embedding + Σ heads + Σ MLPs + biases. With the final
norm held at the scale that it has on x, logits are linear in x, so that every part has its own
share of each logit, and the shares add up to the logit: direct logit attribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from headatlas.models.heads.columns import layer_columns
from headatlas.models.inputs import check_rows_of_ids
from headatlas.models.run.passes import logits_at, nowhere, pad_right
from headatlas.models.run.reading import groups_by_length
from headatlas.models.run.stream import blocks_of
from headatlas.models.run.unembedding import Unembedding, unembedding_of
from headatlas.models.run.writing import WritePath, write_paths

if TYPE_CHECKING:
    from headatlas.models.model import Model


@dataclass
class LastStates:
    """What was read at the last position of rows: the stream behind the last block (row × d_model),
    and by layer what goes into and comes out of the output projection (row × width)."""

    stream: Tensor
    inputs: dict[int, Tensor]
    outputs: dict[int, Tensor]


class DirectPaths:
    """The direct path of every head of a model to its logits; raises if there is none."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.unembedding: Unembedding = unembedding_of(model)
        self.paths: dict[int, WritePath] = write_paths(model)

    @torch.no_grad()
    def read(self, rows: Sequence[Sequence[int]]) -> Iterator[tuple[list[int], LastStates]]:
        """Run rows, and give what is at their last positions, with the numbers of the rows."""
        check_rows_of_ids(self.model, rows)
        for numbers in groups_by_length(rows):
            yield numbers, self._read([rows[number] for number in numbers])

    def _read(self, rows: list[Sequence[int]]) -> LastStates:
        model, device = self.model, self.model.device
        ids, mask = pad_right(rows, device)
        last = torch.tensor([len(row) - 1 for row in rows])
        states = LastStates(torch.empty(0), {}, {})

        def at_last(values: Tensor) -> Tensor:
            values = values.reshape(*ids.shape, -1)  # some models flatten rows and positions
            return values[torch.arange(len(rows)), last.to(values.device)].float().cpu()

        def keep(layer: int) -> Any:
            def hook(module: nn.Module, args: Any, output: Any) -> None:
                states.inputs[layer], states.outputs[layer] = at_last(args[0]), at_last(output)

            return hook

        def keep_stream(module: nn.Module, args: Any, output: Any) -> None:
            states.stream = at_last(output[0] if isinstance(output, tuple) else output)

        with ExitStack() as stack:
            for layer in self.paths:
                module = model.hf.get_submodule(model.spec.layer(layer).projection)
                stack.callback(module.register_forward_hook(keep(layer)).remove)
            stack.callback(blocks_of(model)[-1].register_forward_hook(keep_stream).remove)
            logits_at(model.hf, ids, mask, nowhere(device))
        return states

    def shares(self, states: LastStates) -> Iterator[tuple[int, Tensor]]:
        """By layer, what every head puts before the unembedding: row × head × d_model.

        A product with a row of the unembedding is the head's share of that logit.
        """
        scale = self.unembedding.scale_at(states.stream)[:, None]  # row 1
        for layer, path in self.paths.items():
            spec = self.model.spec.layer(layer)
            z = states.inputs[layer].unflatten(-1, (spec.heads, spec.d_head))
            parts = torch.einsum("rhk,hdk->rhd", z, layer_columns(self.model, layer))
            written = path.written(parts, states.outputs[layer])
            yield layer, self.unembedding.through_norm(written, scale)

    def whole(self, states: LastStates) -> Tensor:
        """What the whole stream puts before the unembedding, with the norm's bias: row × d_model"""
        scale = self.unembedding.scale_at(states.stream)
        return self.unembedding.through_norm(states.stream, scale) + self.unembedding.constant
