"""Which heads are responsible, found without Head Atlas: every head and every pair is removed.

Accuracy is measured on 1,000 fresh rows; `cost(S)` is what it loses when the heads of S are
removed, that is when the output projection gets zeros in their place. The rule:

    A head h is **responsible** if cost({g, h}) − cost({g}) > MARGIN, for g = no head at all, or
    for any other head g with cost({g}) ≤ MARGIN.

With no g, the task needs h. With some g, it needs one of the two: h does the work when g is gone,
though neither is missed alone. Heads g that the task needs are no witnesses: what happens to a
model that is broken already says nothing about h.

MARGIN is a tenth of all rows. It was fixed before any method had been tried, at more than six
standard errors of a cost of a tenth.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Generator, Tensor, nn
from transformers import LlamaForCausalLM

from ground_truth.puzzles import Puzzle, Rows
from ground_truth.trained import ALL_HEADS, D_HEAD, Head

MARGIN = 0.1
FRESH_ROWS = 1_000
FRESH_SEED = 2_000_000_000
"""No seed of a training or a task."""


@dataclass(frozen=True)
class Truth:
    """Costs of every head and every pair, in accuracy."""

    accuracy: float
    cost: dict[frozenset[Head], float]

    def extra_cost(self, head: Head) -> float:
        """The largest cost of a head, alone or where another one that is not needed is gone."""
        witnesses = [frozenset[Head]()]
        witnesses += [
            frozenset({other})
            for other in ALL_HEADS
            if other != head and self.cost[frozenset({other})] <= MARGIN
        ]
        return max(self.cost[without | {head}] - self.cost[without] for without in witnesses)

    @property
    def responsible(self) -> frozenset[Head]:
        return frozenset(head for head in ALL_HEADS if self.extra_cost(head) > MARGIN)


def fresh_rows(puzzle: Puzzle) -> Rows:
    """Rows that were neither learned from nor are in the task."""
    return puzzle.draw(Generator().manual_seed(FRESH_SEED), FRESH_ROWS)


@contextmanager
def without(hf: LlamaForCausalLM, heads: Iterable[Head]) -> Iterator[None]:
    """The model without some heads: the output projection sees zeros in place of their outputs."""
    handles = []
    for layer, number in heads:
        own = slice(number * D_HEAD, (number + 1) * D_HEAD)

        def remove(module: nn.Module, inputs: tuple[Tensor], own: slice = own) -> tuple[Tensor]:
            outputs = inputs[0].clone()  # row position head×d_head
            outputs[..., own] = 0
            return (outputs,)

        projection = hf.model.layers[layer].self_attn.o_proj
        handles.append(projection.register_forward_pre_hook(remove))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def accuracy(hf: LlamaForCausalLM, rows: Rows, removed: Iterable[Head] = ()) -> float:
    """The share of rows that are answered, without some heads."""
    with without(hf, removed):
        answers = hf(rows.prompts).logits[:, -1].argmax(-1)
    return float((answers == rows.targets).double().mean())


def find_truth(hf: LlamaForCausalLM, puzzle: Puzzle) -> Truth:
    """Remove every head and every pair of heads."""
    rows = fresh_rows(puzzle)
    whole = accuracy(hf, rows)
    sets = [(), *((head,) for head in ALL_HEADS), *combinations(ALL_HEADS, 2)]
    costs = {frozenset(heads): whole - accuracy(hf, rows, heads) for heads in sets}
    return Truth(whole, costs)


@torch.no_grad()
def attention(hf: LlamaForCausalLM, rows: Rows) -> Tensor:
    """Attention weights of a copy that computes them openly: row × layer × head × to × from."""
    eager = copy.deepcopy(hf)
    eager.set_attn_implementation("eager")
    return torch.stack(eager(rows.prompts, output_attentions=True).attentions, 1)


def attention_to_answer(weights: Tensor, rows: Rows) -> Tensor:
    """Mean attention from the end of the prompt to the word that is the answer: layer × head."""
    row, place = _places_of_answers(rows)
    return weights[row, :, :, -1, place].mean(0)


def attention_before_answer(weights: Tensor, rows: Rows) -> Tensor:
    """Mean attention from the word that is the answer to the one before it: layer × head."""
    row, place = _places_of_answers(rows)
    return weights[row, :, :, place, place - 1].mean(0)


def _places_of_answers(rows: Rows) -> tuple[Tensor, Tensor]:
    row, place = (rows.prompts == rows.targets[:, None]).nonzero(as_tuple=True)
    assert torch.equal(row, torch.arange(len(rows.prompts))), "an answer is in its prompt once"
    return row, place
