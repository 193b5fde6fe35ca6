"""Reading head outputs, keeping only the layers, heads and positions that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headatlas.errors import EditError
from headatlas.models.edit import Edit
from headatlas.models.inputs import check_rows_of_ids
from headatlas.models.run.passes import logits_at, nowhere, pad_right
from headatlas.models.run.scoring import TOKENS_PER_PASS
from headatlas.models.run.stream import stream_depths, watching_stream

if TYPE_CHECKING:
    from headatlas.models.model import Model

CHUNK = 1024
"""Tokens of one row that run at a time: bounds the memory of long inputs."""


@torch.no_grad()
def read_heads(
    model: Model,
    rows: Sequence[Sequence[int]],
    *,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    positions: Sequence[Sequence[int]] | None = None,
    edit: Edit,
) -> Tensor:
    """Head outputs z: row × layer × head × position × d_head.

    `positions` lists the positions of every row (negative ones count from its end); rows with
    fewer positions, and heads that do not exist, are NaN. Without it, all positions are kept.
    Each z is read before the edit of its own layer. Nothing else is ever kept.
    """
    spec = model.spec
    layers = list(range(spec.n_layers)) if layers is None else list(layers)
    heads = list(range(spec.n_heads)) if heads is None else list(heads)
    _check_exist(model, layers, heads)
    wanted = _wanted(model, rows, positions, edit)
    width = max(len(row_positions) for row_positions in wanted)
    out = torch.full((len(rows), len(layers), len(heads), width, spec.d_head), float("nan"))
    for group in groups_by_length(rows):
        with model.editing_rows(edit, group):
            slots = _Slots.of(group, wanted)
            _run_group(model, [rows[i] for i in group], slots, layers, heads, out)
    return out


@torch.no_grad()
def read_heads_and_stream(
    model: Model, rows: Sequence[Sequence[int]], positions: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor | None]:
    """All head outputs as `read_heads` gives them, and the residual stream at the same positions.

    The stream is row × depth × position × d_model, at the depths of `stream_depths`; `None` if the
    model does not show it.
    """
    edit, spec = Edit(), model.spec
    wanted = _wanted(model, rows, positions, edit)
    width = max(len(row_positions) for row_positions in wanted)
    layers, heads = list(range(spec.n_layers)), list(range(spec.n_heads))
    out = torch.full((len(rows), len(layers), len(heads), width, spec.d_head), float("nan"))
    parts: list[_StreamPart] = []
    for group in groups_by_length(rows):
        with model.editing_rows(edit, group):
            slots = _Slots.of(group, wanted)
            _run_group(model, [rows[i] for i in group], slots, layers, heads, out, parts)
    return out, _joined(parts, wanted, stream_depths(model))


@dataclass(frozen=True)
class _Slots:
    """The positions that are wanted in a group of rows, and the place of each in the output."""

    batch: Tensor
    position: Tensor
    row: Tensor
    slot: Tensor

    @classmethod
    def of(cls, group: list[int], wanted: list[list[int]]) -> _Slots:
        places = [
            (i, p, row, slot) for i, row in enumerate(group) for slot, p in enumerate(wanted[row])
        ]
        return cls(*torch.tensor(places, dtype=torch.long).reshape(-1, 4).unbind(1))

    def within(self, offset: int, length: int) -> _Slots:
        """Those of a chunk that starts at `offset`, with positions counted from there."""
        here = (self.position >= offset) & (self.position < offset + length)
        return _Slots(
            self.batch[here], self.position[here] - offset, self.row[here], self.slot[here]
        )

    def pick(self, values: Tensor) -> Tensor:
        """The values (batch × position × …) at the slots: slot × …"""
        return values[self.batch.to(values.device), self.position.to(values.device)]


@dataclass(frozen=True)
class _StreamPart:
    """The residual stream at one depth, for some slots: slot × d_model."""

    depth: int
    slots: _Slots
    values: Tensor


def _run_group(
    model: Model,
    rows: list[Sequence[int]],
    slots: _Slots,
    layers: list[int],
    heads: list[int],
    out: Tensor,
    parts: list[_StreamPart] | None = None,
) -> None:
    """Run one group, chunk by chunk if it is long, and fill its rows of `out`.

    With `parts`, the residual stream at the same slots is added to them.
    """
    device = model.device
    ids, mask = pad_right(rows, device)
    length, start = ids.shape[1], 0
    step = CHUNK if model.continues_from_cache else length
    shown: set[int] = set()  # a block that serves several layers runs again: its first input counts

    def keep(layer: int, z: Tensor, offset: int) -> None:
        here = slots.within(offset, z.shape[1])
        exist = [k for k, head in enumerate(heads) if head < z.shape[2]]
        if layer not in layers or not len(here.row) or not exist:
            return
        column = torch.tensor([heads[k] for k in exist], device=z.device)
        picked = here.pick(z)[:, column].float().cpu()  # slot head d_head
        for k, values in zip(exist, picked.unbind(1), strict=True):
            out[here.row, layers.index(layer), k, here.slot, : z.shape[3]] = values

    def keep_stream(depth: int, hidden: Tensor) -> None:
        end = min(start + step, length)
        if parts is None or depth in shown or hidden.shape[:2] != (len(rows), end - start):
            return
        shown.add(depth)
        here = slots.within(start, end - start)
        parts.append(_StreamPart(depth, here, here.pick(hidden).float().cpu()))

    stream = nullcontext() if parts is None else watching_stream(model, keep_stream)
    with model.reading(keep), stream:
        cache = model.new_cache() if length > step else None
        for start in range(0, length, step):
            shown.clear()
            end = min(start + step, length)
            logits_at(model.hf, ids[:, start:end], mask[:, :end], nowhere(device), cache)


def _joined(parts: list[_StreamPart], wanted: list[list[int]], depths: list[int]) -> Tensor | None:
    """The stream of all rows; `None` if any wanted place is missing."""
    if not parts or len({part.values.shape[1:] for part in parts}) > 1:
        return None
    width = max(map(len, wanted))
    stream = torch.full((len(wanted), len(depths), width, *parts[0].values.shape[1:]), float("nan"))
    for part in parts:
        stream[part.slots.row, depths.index(part.depth), part.slots.slot] = part.values
    filled = [bool(stream[i, :, : len(row)].isfinite().all()) for i, row in enumerate(wanted)]
    return stream if all(filled) else None


def _wanted(
    model: Model,
    rows: Sequence[Sequence[int]],
    positions: Sequence[Sequence[int]] | None,
    edit: Edit,
) -> list[list[int]]:
    """The positions to read of every row, counted from its start."""
    check_rows_of_ids(model, rows)
    edit.check_rows(len(rows))
    if positions is not None and len(positions) != len(rows):
        raise EditError(f"{len(positions)} lists of positions were given for {len(rows)} rows.")
    return [_absolute(row, positions[i] if positions else None) for i, row in enumerate(rows)]


def _check_exist(model: Model, layers: list[int], heads: list[int]) -> None:
    spec = model.spec
    for layer in layers:
        if not 0 <= layer < spec.n_layers:
            spec.layer(layer)
    for head in heads:
        if not 0 <= head < spec.n_heads:
            raise EditError(f"no head {head} in {spec.name}: heads run to {spec.n_heads - 1}.")


def _absolute(row: Sequence[int], positions: Sequence[int] | None) -> list[int]:
    if positions is None:
        return list(range(len(row)))
    for position in positions:
        if not -len(row) <= position < len(row):
            raise EditError(f"no position {position} in a row of {len(row)} tokens.")
    return [position % len(row) for position in positions]


def groups_by_length(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Numbers of the rows that run together, shortest first, in passes of bounded size."""
    groups: list[list[int]] = [[]]
    for index in sorted(range(len(rows)), key=lambda i: len(rows[i])):
        if groups[-1] and min(len(rows[index]), CHUNK) * (len(groups[-1]) + 1) > TOKENS_PER_PASS:
            groups.append([])
        groups[-1].append(index)
    return groups
