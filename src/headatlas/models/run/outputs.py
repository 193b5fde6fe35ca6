"""Rows in layouts of bounded size, and the head outputs of rows, found by row and position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from headatlas.models.edit import Edit
from headatlas.models.run.layout import Layout
from headatlas.models.run.packing import attends_in_chunks, longest_packable, packing_pays
from headatlas.models.run.scoring import TOKENS_PER_PASS, shared_prefix
from headatlas.models.tokens import Tokens, group_by_input

if TYPE_CHECKING:
    from headatlas.models.model import Model

LaidOut = list[tuple[Layout, list[int]]]
"""Layouts with the numbers of their rows, in the order of their places."""


def lay_out(model: Model, rows: Sequence[Tokens], *, share: bool = True) -> LaidOut:
    """Rows in as many layouts as keep a pass small, packed where the model can and it pays.

    Without `share`, no two rows share a position.
    """
    numbers = group_by_input(rows) if share else [[i] for i in range(len(rows))]
    hosts = [rows[group[-1]] for group in numbers]
    prefix = shared_prefix(hosts) if share else 0
    pack = (
        not model.is_read
        and max(map(len, hosts)) <= longest_packable(model)
        and packing_pays(hosts, prefix, in_chunks=attends_in_chunks(model.hf), cached=False)
        and model.packs
    )
    budget = (
        min(TOKENS_PER_PASS, model.spec.context or TOKENS_PER_PASS) if pack else TOKENS_PER_PASS
    )
    layouts = []
    for chunk in _chunks(numbers, rows, prefix if pack else 0, budget, pack):
        groups = [[rows[i] for i in group] for group in chunk]
        if pack:
            layout = Layout.packed(groups, prefix, model.device, model.hf.dtype)
        else:
            layout = Layout.padded(groups, model.device)
        layouts.append((layout, [i for group in chunk for i in group]))
    return layouts


def _chunks(
    numbers: list[list[int]], rows: Sequence[Tokens], prefix: int, budget: int, pack: bool
) -> list[list[list[int]]]:
    """Groups in chunks of at most `budget` tokens, shortest rows first if they are padded."""
    if not pack:
        numbers = sorted(numbers, key=lambda group: len(rows[group[-1]]))
    chunks: list[list[list[int]]] = [[]]
    tokens = prefix
    for group in numbers:
        size = len(rows[group[-1]]) - prefix
        total = tokens + size if pack else size * (len(chunks[-1]) + 1)
        if chunks[-1] and total > budget:
            chunks.append([])
            total = prefix + size if pack else size
        chunks[-1].append(group)
        tokens = total
    return chunks


class HeadOutputs:
    """All head outputs z of some rows, each shared position kept once."""

    def __init__(self, model: Model, rows: Sequence[Tokens]) -> None:
        self._z: list[dict[int, Tensor]] = []
        self._where: dict[int, tuple[int, int, list[int]]] = {}
        for layout, numbers in lay_out(model, rows):
            self._z.append(_read(model, layout))
            places = iter(numbers)
            for group, (batch_row, columns) in zip(layout.groups, layout.columns, strict=True):
                for _ in group:
                    self._where[next(places)] = (len(self._z) - 1, batch_row, columns)

    def shape(self, layer: int) -> tuple[int, int]:
        """Heads and d_head of a layer."""
        heads, d_head = self._z[0][layer].shape[-2:]
        return heads, d_head

    def place(self, row: int, position: int) -> tuple[int, int, int]:
        """Where the outputs at a position of a row are kept: equal for shared positions."""
        batch, batch_row, columns = self._where[row]
        return batch, batch_row, columns[position]

    def at(self, layer: int, row: int, positions: Sequence[int]) -> Tensor:
        """Outputs of a layer at positions of a row: position × head × d_head."""
        batch, batch_row, columns = self._where[row]
        return self._z[batch][layer][batch_row, [columns[position] for position in positions]]


@torch.no_grad()
def _read(model: Model, layout: Layout) -> dict[int, Tensor]:
    z: dict[int, Tensor] = {}

    def keep(layer: int, outputs: Tensor, offset: int) -> None:
        z.setdefault(layer, outputs.detach().float().cpu())

    with model.editing(Edit()), model.reading(keep):
        layout.logits(model.hf)
    return z
