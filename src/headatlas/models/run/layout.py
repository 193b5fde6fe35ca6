"""Rows laid out as one batch, packed or padded: what runs, and where every token of a row stands.

Packed, all rows stand in one: the prefix once, then every row's own suffix. Position ids and a
block mask keep the rows apart: each suffix sees the prefix and itself. There is no padding and a
single pass. Attention over the whole row would grow with its square; it runs in chunks of whole
suffixes instead, each with the prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from headatlas.models.run.packing import AttentionInChunks, block_mask, chunk_sizes
from headatlas.models.run.passes import Places, pad_right, project_only
from headatlas.models.tokens import Tokens

if TYPE_CHECKING:
    from transformers import PreTrainedModel

Groups = Sequence[Sequence[Tokens]]
"""Rows in groups: the last row of a group runs, and its input starts with those of the others."""


@dataclass(frozen=True)
class Layout:
    """A batch in which every row of some groups has its place.

    `ids` is batch × token, `columns` lists for every group its row of the batch and the column of
    each of its positions; `places` predict the targets of all rows, group by group. A packed layout
    is a single row of the batch, with `position_ids`, and the sizes of its prefix and `chunks`.
    """

    groups: Groups
    ids: Tensor
    mask: Tensor
    columns: list[tuple[int, list[int]]]
    position_ids: Tensor | None = None
    sizes: tuple[int, ...] = ()

    @classmethod
    def packed(
        cls, groups: Groups, prefix: int, device: torch.device, dtype: torch.dtype
    ) -> Layout:
        """All groups in one row of the batch; what they share comes first, once."""
        rows = [group[-1] for group in groups]
        ids = list(rows[0].ids[:prefix])
        positions = list(range(prefix))
        owner = [-1] * prefix  # the row that a token belongs to; −1: all
        columns = []
        for number, row in enumerate(rows):
            suffix = row.ids[prefix:-1]  # the last token predicts nothing
            columns.append((0, [*range(prefix), *range(len(ids), len(ids) + len(suffix))]))
            ids += suffix
            positions += range(prefix, len(row) - 1)
            owner += [number] * len(suffix)
        return cls(
            groups,
            torch.tensor([ids], device=device),
            block_mask(torch.tensor(owner, device=device), dtype),
            columns,
            torch.tensor([positions], device=device),
            (prefix, *chunk_sizes([len(row) - 1 - prefix for row in rows])),
        )

    @classmethod
    def padded(cls, groups: Groups, device: torch.device) -> Layout:
        """Every group is a row of the batch, padded at its end."""
        inputs = [group[-1].ids[:-1] for group in groups]
        ids, mask = pad_right(inputs, device)
        columns = [(number, list(range(len(row)))) for number, row in enumerate(inputs)]
        return cls(groups, ids, mask, columns)

    @property
    def is_packed(self) -> bool:
        return self.position_ids is not None

    @property
    def rows(self) -> int:
        """The number of rows of the batch."""
        return int(self.ids.shape[0])

    @property
    def width(self) -> int:
        """The number of columns of the batch."""
        return int(self.ids.shape[1])

    def places(self, copies: int = 1) -> Places:
        """Where the targets of all rows are predicted, group by group; in every copy in turn."""
        at = [
            (copy * self.rows + batch_row, columns[position - 1])
            for copy in range(copies)
            for group, (batch_row, columns) in zip(self.groups, self.columns, strict=True)
            for row in group
            for position in row.positions
        ]
        rows, columns_of_targets = torch.tensor(at, device=self.ids.device).unbind(-1)
        return rows, columns_of_targets

    def logits(self, model: PreTrainedModel, copies: int = 1) -> Tensor:
        """Logits at the places of a number of copies of the batch: place × vocabulary."""
        ids = self.ids.repeat(copies, 1)
        inputs: dict[str, Any] = {"input_ids": ids, "attention_mask": self._mask(copies)}
        if self.position_ids is not None:
            inputs["position_ids"] = self.position_ids.expand(copies, -1)
        with (
            project_only(model.get_output_embeddings(), ids, self.places(copies)) as projection,
            self._attention(),
        ):
            logits: Tensor = model(**inputs, use_cache=False).logits
        return projection.logits_at_places(logits)

    def _mask(self, copies: int) -> Tensor:
        if self.is_packed:
            return self.mask.expand(copies, -1, -1, -1)
        return self.mask.repeat(copies, 1)

    def _attention(self) -> AbstractContextManager[Any]:
        if not self.is_packed:
            return nullcontext()
        return AttentionInChunks(self.sizes[0], list(self.sizes[1:]), self.mask)
