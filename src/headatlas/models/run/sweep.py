"""The same rows under many edits, computed together and exactly.

Three savings: what lies below the first edited layer runs once, several edits run as one batch, and
rows are laid out as `score` lays them out (packed where that pays, vocabulary projection on targets
only). Models that cannot resume or pack run whole passes instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor

from headatlas.models.edit import Edit
from headatlas.models.run.layout import Layout
from headatlas.models.run.outputs import HeadOutputs, lay_out
from headatlas.models.run.resuming import KeptStream
from headatlas.models.run.scoring import TOKENS_PER_PASS, TargetScores
from headatlas.models.run.scoring import shared_prefix as prefix_to_share
from headatlas.models.run.stream import first_block
from headatlas.models.tokens import Tokens

if TYPE_CHECKING:
    from headatlas.models.model import Model

T = TypeVar("T")

MOST_LOGITS = 2**26
"""Logits of one pass, at most: bounds the memory of large vocabularies."""


@dataclass(frozen=True)
class Source:
    """Other rows whose head outputs take the place of removed ones.

    `rows[i]` belongs to row i of a sweep; `aligned[i][p]` is its position that position p of row i
    gets the output of.
    """

    rows: tuple[Tokens, ...]
    aligned: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class SweepPlan:
    """What a sweep does to heads whose gate is closed.

    Their output is replaced by that of the `source`, or else by `vectors` (layer × head × d_head),
    or else by zero; at all positions, or at those listed for every row.
    """

    rows: tuple[Tokens, ...]
    vectors: Tensor | None = None
    source: Source | None = None
    positions: tuple[tuple[int, ...], ...] | None = None

    def is_like(self, other: SweepPlan) -> bool:
        """Whether two plans give the same numbers."""
        mine, theirs = replace(self, vectors=None), replace(other, vectors=None)
        same = (self.vectors is None) == (other.vectors is None)
        if same and self.vectors is not None and other.vectors is not None:
            same = torch.equal(self.vectors, other.vectors)
        return same and mine == theirs


class Sweep:
    """Target scores of rows under any number of gates; see `Model.sweep`."""

    def __init__(self, model: Model, plan: SweepPlan, *, resume: bool | None = None) -> None:
        self.model, self.plan = model, plan
        self._forced = resume is not None
        self._resume = model.resumes if resume is None else resume
        self._outputs = HeadOutputs(model, plan.source.rows) if plan.source else None
        self._one_by_one = False
        self._parts: list[_Part] = []
        self._plain: TargetScores | None = None
        self._lay_out()

    def _lay_out(self) -> None:
        rows, plan, model = self.plan.rows, self.plan, self.model
        simple = plan.source is None and plan.positions is None
        chunks = lay_out(model, rows)
        if not simple and not all(self._agrees_in_prefix(layout, own) for layout, own in chunks):
            chunks = lay_out(model, rows, share=False)
        if any(not layout.is_packed for layout, _ in chunks):
            shares = prefix_to_share(rows) > 0 and model.continues_from_cache
            self._one_by_one = simple and shares and not self._forced
        if not self._one_by_one:
            self._parts = [
                _Part(layout, own, KeptStream(model, len(chunks))) for layout, own in chunks
            ]

    def _agrees_in_prefix(self, layout: Layout, numbers: list[int]) -> bool:
        """Whether all rows do the same at the positions that they share in a layout."""
        seen: dict[tuple[int, int], object] = {}
        for at, place in self._columns(layout, numbers):
            for position, column in enumerate(place[1]):
                content = self._content(at, position)
                if seen.setdefault((place[0], column), content) != content:
                    return False
        return True

    def _columns(
        self, layout: Layout, numbers: list[int]
    ) -> list[tuple[int, tuple[int, list[int]]]]:
        """Every row with its row of the batch and the columns of its own positions."""
        found, places = [], iter(numbers)
        for group, (batch_row, columns) in zip(layout.groups, layout.columns, strict=True):
            for row in group:
                found.append((next(places), (batch_row, columns[: len(row) - 1])))
        return found

    def _content(self, row: int, position: int) -> object:
        """What happens at a position of a row."""
        plan = self.plan
        chosen = plan.positions is None or position in plan.positions[row]
        if not chosen or self._outputs is None or plan.source is None:
            return chosen
        return self._outputs.place(row, plan.source.aligned[row][position])

    @property
    def plain(self) -> TargetScores:
        """Scores of the rows without an edit."""
        if self._plain is None:
            with torch.no_grad():
                if self._one_by_one:
                    self._plain = self.model.score(self.plan.rows, Edit())
                else:
                    passes = [self._record(part) for part in self._parts]
                    scores = self._joined(passes)
                    self._plain = replace(scores, logprob=scores.logprob[0], hit=scores.hit[0])
        return self._plain

    def _record(self, part: _Part) -> tuple[Tensor, Tensor]:
        with self.model.editing(Edit()), part.stream.recording():
            return _target_scores(part.layout, part.layout.logits(self.model.hf), 1)

    @torch.no_grad()
    def scores(self, gates: Tensor) -> TargetScores:
        """Scores under every gate (edit × layer × head): edit × row × token."""
        _ = self.plain  # records the stream
        if self._one_by_one:
            return self._whole_passes(gates)
        closed = (gates != 1).any(0).any(-1).nonzero().flatten().tolist()
        layers = [layer for layer in closed if self.model.spec.layers[layer]]
        block = first_block(self.model, layers) if layers and self._resume else 0
        passes = [self._part_scores(part, gates, layers, block) for part in self._parts]
        return self._joined(passes)

    @torch.no_grad()
    def resumed(self, layer: int) -> TargetScores:
        """Scores without an edit, computed from a layer on: what `plain` is, if that works."""
        _ = self.plain
        gates = torch.ones(1, self.model.spec.n_layers, self.model.spec.n_heads)
        block = first_block(self.model, [layer])
        passes = [self._part_scores(part, gates, [], block) for part in self._parts]
        scores = self._joined(passes)
        return replace(scores, logprob=scores.logprob[0], hit=scores.hit[0])

    def _whole_passes(self, gates: Tensor) -> TargetScores:
        results = [
            self.model.score(self.plan.rows, Edit(gate=gate, replacement=self.plan.vectors))
            for gate in gates
        ]
        return TargetScores(
            torch.stack([result.logprob for result in results]),
            torch.stack([result.hit for result in results]),
            results[0].mask,
        )

    def in_passes(self, edits: Sequence[T]) -> Iterator[Sequence[T]]:
        """Edits in the portions that run together, so that progress can be shown."""
        most = min((self._most(part.layout) for part in self._parts), default=1)
        size = -(-len(edits) // -(-len(edits) // most)) if edits else 1
        return (edits[start : start + size] for start in range(0, len(edits), size))

    def _most(self, layout: Layout) -> int:
        """How many copies of a layout run as one batch."""
        room = TOKENS_PER_PASS // (layout.rows * layout.width)
        logits = len(layout.places()[0]) * self.model.vocabulary_size
        return max(1, min(room, MOST_LOGITS // logits))

    def _part_scores(
        self, part: _Part, gates: Tensor, layers: list[int], block: int
    ) -> tuple[Tensor, Tensor]:
        layout = part.layout
        start = part.stream.nearest(block)
        count = -(-len(gates) // self._most(layout))
        replacement = self._replacement(part, layers)
        results = []
        for some in gates.tensor_split(count):
            edit = self._edit(part, some, replacement)
            with self.model.editing(edit), part.stream.resuming(start, len(some)):
                logits_of_all = layout.logits(self.model.hf, len(some))
            results.append(_target_scores(layout, logits_of_all, len(some)))
        return torch.cat([r[0] for r in results]), torch.cat([r[1] for r in results])

    def _edit(
        self, part: _Part, gates: Tensor, replacement: dict[int, Tensor] | Tensor | None
    ) -> Edit:
        """The edit of a batch that holds a copy of the layout for every gate."""
        copies, rows = len(gates), part.layout.rows
        if isinstance(replacement, dict):
            replacement = {k: v.repeat(copies, 1, 1, 1) for k, v in replacement.items()}
        gate = gates.repeat_interleave(rows, 0)  # batch layer head
        if self.plan.positions is not None:
            chosen = (
                self._chosen(part).to(gates.device).repeat(copies, 1)[:, None, None]
            )  # batch 1 1 column
            gate = torch.where(chosen, gate[..., None], 1.0)
        return Edit(gate=gate, replacement=replacement)

    def _chosen(self, part: _Part) -> Tensor:
        """Where heads are removed: row of the batch × column."""
        assert self.plan.positions is not None
        chosen = torch.zeros(part.layout.rows, part.layout.width, dtype=torch.bool)
        for row, (batch_row, columns) in self._columns(part.layout, part.numbers):
            for position in self.plan.positions[row]:
                if position < len(columns):
                    chosen[batch_row, columns[position]] = True
        return chosen

    def _replacement(self, part: _Part, layers: list[int]) -> dict[int, Tensor] | Tensor | None:
        source = self.plan.source
        if source is None or self._outputs is None:
            return self.plan.vectors
        size = (part.layout.rows, part.layout.width)
        replacement = {}
        for layer in layers:
            z = torch.zeros(*size, *self._outputs.shape(layer))  # row column head d_head
            for row, (batch_row, columns) in self._columns(part.layout, part.numbers):
                aligned = source.aligned[row][: len(columns)]
                z[batch_row, columns] = self._outputs.at(layer, row, aligned)
            replacement[layer] = self._full_size(z).permute(0, 2, 1, 3)
        return replacement

    def _full_size(self, z: Tensor) -> Tensor:
        """Head outputs of a layer in the size of the model's largest."""
        spec = self.model.spec
        missing = (0, spec.d_head - z.shape[-1], 0, spec.n_heads - z.shape[-2])
        return torch.nn.functional.pad(z, missing)

    def _joined(self, passes: Sequence[tuple[Tensor, Tensor]]) -> TargetScores:
        """Scores of all parts (edit × place each) in the order of the rows."""
        rows = self.plan.rows
        logprob, hit = (torch.cat(values, dim=-1) for values in zip(*passes, strict=True))
        order = list(chain.from_iterable(part.numbers for part in self._parts))
        starts, start = {}, 0
        for number in order:
            starts[number] = start
            start += len(rows[number].target)
        width = max(len(row.target) for row in rows)
        index = torch.zeros(len(rows), width, dtype=torch.long)
        mask = torch.zeros(len(rows), width, dtype=torch.bool)
        for number, row in enumerate(rows):
            size = len(row.target)
            index[number, :size] = torch.arange(starts[number], starts[number] + size)
            mask[number, :size] = True
        index, mask = index.to(logprob.device), mask.to(logprob.device)
        return TargetScores(
            torch.where(mask, logprob[..., index], 0.0), hit[..., index] & mask, mask
        )


@dataclass(frozen=True)
class _Part:
    """Rows that run as one batch: `numbers` are theirs, in the order of the layout's places."""

    layout: Layout
    numbers: list[int]
    stream: KeptStream


def _target_scores(layout: Layout, logits: Tensor, copies: int) -> tuple[Tensor, Tensor]:
    """Log-probability and hit of every target token: copy × place."""
    targets = [token for group in layout.groups for row in group for token in row.target]
    wanted = torch.tensor(targets, device=logits.device).repeat(copies)
    logprob = logits.float().log_softmax(-1).gather(-1, wanted[:, None])[:, 0]
    hit = logits.argmax(-1) == wanted
    return logprob.unflatten(0, (copies, -1)), hit.unflatten(0, (copies, -1))
