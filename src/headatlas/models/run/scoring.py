"""Log-probability of target tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from transformers.cache_utils import Cache

from headatlas.errors import EditError, TaskError
from headatlas.models.edit import Edit
from headatlas.models.inputs import check_rows_of_ids
from headatlas.models.run.layout import Groups, Layout
from headatlas.models.run.packing import attends_in_chunks, longest_packable, packing_pays
from headatlas.models.run.passes import logits_at, pad_right, repeat_cache, run_prefix
from headatlas.models.tokens import Tokens, common_prefix, group_by_input

if TYPE_CHECKING:
    from headatlas.models.model import Model

TOKENS_PER_PASS = 4096
"""Tokens in one pass, packed or without gradient: bounds the memory of large batches."""

PREFIX_CHUNK = 1024
"""Tokens of a prefix that run at a time without gradient: bounds the memory of long prefixes."""

MIN_SAVED = 8
"""A prefix is shared when that saves at least this many tokens: a second pass has its cost."""

Scores = tuple[Tensor, Tensor]
"""Of one row's target tokens: log-probability, and whether each is the model's first choice."""


@dataclass(frozen=True)
class TargetScores:
    """Scores of the target tokens, row × token; `mask` is False where a row has no token."""

    logprob: Tensor
    hit: Tensor
    mask: Tensor

    def mean(self) -> Tensor:
        """Mean log-probability over each row's target tokens: row."""
        return self.total() / self.mask.sum(-1)

    def total(self) -> Tensor:
        """Log-probability of each row's whole target: row."""
        return torch.where(self.mask, self.logprob, 0.0).sum(-1)

    def exact(self) -> Tensor:
        """Whether every target token is the model's first choice: row."""
        return (self.hit | ~self.mask).all(-1)


def score_targets(
    model: Model,
    rows: Sequence[Tokens],
    edit: Edit,
    *,
    share: bool | None = None,
    pack: bool | None = None,
) -> TargetScores:
    """Log-probability of every row's target under an edit, in the order of the rows.

    Rows may have any mix of lengths. A row that a longer one starts with is read from the longer
    one's pass, and a prefix that all rows share is computed once, unless `share=False`, or the
    model cannot continue from a cache, or rows have edits of their own. All rows run packed into
    one where the model can and it pays; `share` and `pack` overrule.
    """
    if wrong := next((row for row in rows if not isinstance(row, Tokens)), None):
        raise TaskError(
            f"score takes Tokens, not a {type(wrong).__name__}: make them with "
            "model.encode(prompt, target), or with Tokens(ids, target_start)."
        )
    check_rows_of_ids(model, [row.ids for row in rows])
    edit.check_rows(len(rows))
    if pack and (edit.rows > 1 or edit.by_position):
        raise EditError(
            "an edit by row or by position cannot run packed, as rows and positions are other ones "
            "there: leave out pack=True."
        )
    numbers = [[i] for i in range(len(rows))]
    if share is not False and edit.rows == 1:
        numbers = group_by_input(rows)
    groups = [[rows[i] for i in group] for group in numbers]
    if pack is None:
        pack = share is None and _can_pack(model, [group[-1] for group in groups], edit)
    if share is None:
        share = pack or model.continues_from_cache
    prefix = shared_prefix(rows) if share and edit.rows == 1 else 0
    grad = torch.is_grad_enabled() and edit.requires_grad
    with model.editing(edit), torch.set_grad_enabled(grad):
        if pack:
            layout = Layout.packed(groups, prefix, model.device, model.hf.dtype)
            in_groups = _score(groups, layout.logits(model.hf))
        else:
            in_groups = _score_in_passes(model, groups, edit, prefix, grad)
    place_of = {number: place for place, number in enumerate(chain.from_iterable(numbers))}
    scores = [in_groups[place_of[number]] for number in range(len(rows))]
    pad = torch.nn.utils.rnn.pad_sequence
    lengths = torch.tensor([len(row.target) for row in rows], device=scores[0][0].device)
    return TargetScores(
        pad([logprob for logprob, _ in scores], batch_first=True),
        pad([hit for _, hit in scores], batch_first=True),
        torch.arange(int(lengths.max()), device=lengths.device)[None, :] < lengths[:, None],
    )


def _can_pack(model: Model, rows: Sequence[Tokens], edit: Edit) -> bool:
    prefix = shared_prefix(rows)
    tokens = prefix + sum(len(row) - prefix for row in rows)
    return (
        edit.rows == 1
        and not edit.by_position  # positions of a packed row are not those of the texts
        and not model.is_read
        and tokens <= min(TOKENS_PER_PASS, model.spec.context or TOKENS_PER_PASS)
        and max(map(len, rows)) <= longest_packable(model)
        and packing_pays(rows, prefix, in_chunks=attends_in_chunks(model.hf))
        and model.packs
    )


def _score_in_passes(
    model: Model, groups: Groups, edit: Edit, prefix: int, grad: bool
) -> list[Scores]:
    """Score batches that continue the prefix; without gradient, in passes of bounded memory."""
    rows = [group[-1] for group in groups]
    chunk = None if grad else PREFIX_CHUNK
    cache = run_prefix(model.hf, rows[0].ids[:prefix], chunk) if prefix else None
    scores: dict[int, list[Scores]] = {}
    for numbers in _passes(rows, prefix, None if grad else TOKENS_PER_PASS):
        with model.editing_rows(edit, numbers):
            in_order = iter(_score_pass(model, [groups[i] for i in numbers], prefix, cache))
        scores.update({i: list(islice(in_order, len(groups[i]))) for i in numbers})
    return [row_scores for i in range(len(rows)) for row_scores in scores[i]]


def shared_prefix(rows: Sequence[Tokens]) -> int:
    """Length of the prefix to share: every predicting position must stay in the suffix."""
    room = min(row.target_start for row in rows) - 1
    length = min(common_prefix([row.ids for row in rows]), room)
    return length if length * (len(rows) - 1) >= MIN_SAVED else 0


def _passes(rows: Sequence[Tokens], prefix: int, budget: int | None) -> Iterator[list[int]]:
    """Row numbers of each pass: rows of similar length, within the budget of padded tokens."""
    if budget is None:
        yield list(range(len(rows)))
        return
    numbers: list[int] = []
    for index in sorted(range(len(rows)), key=lambda i: len(rows[i])):
        width = len(rows[index]) - prefix
        if numbers and width * (len(numbers) + 1) > budget:
            yield numbers
            numbers = []
        numbers.append(index)
    yield numbers


def _score_pass(model: Model, groups: Groups, prefix: int, cache: Cache | None) -> list[Scores]:
    device = model.device
    suffixes = [group[-1].ids[prefix:-1] for group in groups]  # the last token predicts nothing
    ids, mask = pad_right(suffixes, device)
    at = [
        (number, position - 1 - prefix)
        for number, group in enumerate(groups)
        for row in group
        for position in row.positions
    ]
    rows, positions = torch.tensor(at, device=device).unbind(-1)
    continued = None
    if cache is not None:
        continued = repeat_cache(cache, len(groups))
        mask = torch.cat([mask.new_ones(len(groups), prefix), mask], dim=1)
    return _score(groups, logits_at(model.hf, ids, mask, (rows, positions), continued))


def _score(groups: Groups, logits: Tensor) -> list[Scores]:
    """Log-probability and hit of every target's tokens, from the logits (place × vocabulary) that
    predict them."""
    targets = [row.target for group in groups for row in group]
    wanted = torch.tensor([token for target in targets for token in target], device=logits.device)
    # place vocabulary -> place; in float32, as half precision loses the small differences
    logprob = logits.float().log_softmax(-1).gather(-1, wanted[:, None])[:, 0]
    hit = logits.argmax(-1) == wanted
    sizes = [len(target) for target in targets]
    return list(zip(logprob.split(sizes), hit.split(sizes), strict=True))
