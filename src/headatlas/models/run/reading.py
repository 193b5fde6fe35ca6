"""Reading head outputs, keeping only the layers, heads and positions that are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headatlas.errors import EditError
from headatlas.models.edit import Edit
from headatlas.models.inputs import check_rows_of_ids
from headatlas.models.run.passes import logits_at, nowhere, pad_right

if TYPE_CHECKING:
    from headatlas.models.model import Model

CHUNK = 1024
"""Tokens of one row that run at a time: bounds the memory of long inputs."""

TOKENS_PER_PASS = 4096


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
    check_rows_of_ids(model, rows)
    edit.check_rows(len(rows))
    spec = model.spec
    layers = list(range(spec.n_layers)) if layers is None else list(layers)
    heads = list(range(spec.n_heads)) if heads is None else list(heads)
    _check_exist(model, layers, heads)
    if positions is not None and len(positions) != len(rows):
        raise EditError(f"{len(positions)} lists of positions were given for {len(rows)} rows.")
    wanted = [_absolute(row, positions[i] if positions else None) for i, row in enumerate(rows)]
    width = max(len(row_positions) for row_positions in wanted)
    out = torch.full((len(rows), len(layers), len(heads), width, spec.d_head), float("nan"))
    for group in _groups(rows):
        with model.editing_rows(edit, group):
            _read_group(model, [rows[i] for i in group], group, wanted, layers, heads, out)
    return out


def _read_group(
    model: Model,
    rows: list[Sequence[int]],
    group: list[int],
    wanted: list[list[int]],
    layers: list[int],
    heads: list[int],
    out: Tensor,
) -> None:
    """Run one group, chunk by chunk if it is long, and fill its rows of `out`."""
    device = model.device
    ids, mask = pad_right(rows, device)
    slots = [(i, slot, p) for i, row in enumerate(group) for slot, p in enumerate(wanted[row])]

    def keep(layer: int, z: Tensor, offset: int) -> None:
        if layer not in layers:
            return
        here = [(i, slot, p) for i, slot, p in slots if offset <= p < offset + z.shape[1]]
        exist = [k for k, head in enumerate(heads) if head < z.shape[2]]
        if not here or not exist:
            return
        batch = torch.tensor([i for i, _, _ in here], device=z.device)
        position = torch.tensor([p - offset for _, _, p in here], device=z.device)
        column = torch.tensor([heads[k] for k in exist], device=z.device)
        picked = z[batch, position][:, column].float().cpu()  # slot head d_head
        row = torch.tensor([group[i] for i, _, _ in here])
        slot = torch.tensor([s for _, s, _ in here])
        for k, values in zip(exist, picked.unbind(1), strict=True):
            out[row, layers.index(layer), k, slot, : z.shape[3]] = values

    length = ids.shape[1]
    step = CHUNK if model.continues_from_cache else length
    with model.reading(keep):
        cache = model.new_cache() if length > step else None
        for start in range(0, length, step):
            end = min(start + step, length)
            logits_at(model.hf, ids[:, start:end], mask[:, :end], nowhere(device), cache)


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


def _groups(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    groups: list[list[int]] = [[]]
    for index in sorted(range(len(rows)), key=lambda i: len(rows[i])):
        if groups[-1] and min(len(rows[index]), CHUNK) * (len(groups[-1]) + 1) > TOKENS_PER_PASS:
            groups.append([])
        groups[-1].append(index)
    return groups
