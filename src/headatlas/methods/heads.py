"""Every head alone: which heads, in which parts of the work, and what is measured without them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import index
from typing import TYPE_CHECKING

import torch

from headatlas.errors import HeadAtlasError

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.methods.measures import Measured
    from headatlas.methods.method import Part
    from headatlas.models.model import Model
    from headatlas.models.run.sweep import Sweep
    from headatlas.models.spec import Head, ModelSpec


def as_heads(heads: Sequence[Sequence[int]]) -> tuple[Head, ...]:
    """Pairs of any integers as heads. Raises `HeadAtlasError` for anything else."""
    try:
        pairs = tuple((index(layer), index(head)) for layer, head in heads)
    except (TypeError, ValueError):
        raise HeadAtlasError(
            f"heads are pairs (layer, head), such as ((0, 1), (3, 5)), not {heads!r}."
        ) from None
    if not pairs:
        raise HeadAtlasError("no heads were given: name some, or leave heads out for all.")
    return pairs


def parts_by_layer(spec: ModelSpec, heads: Sequence[Head] | None) -> list[Part]:
    """The work on some heads, or all, in one part per layer."""
    wanted = sorted(set(heads)) if heads is not None else spec.heads()
    for head in wanted:
        spec.check_head(head)
    layers = sorted({layer for layer, _ in wanted})
    return [{"heads": [list(head) for head in wanted if head[0] == at]} for at in layers]


def sweep_passes(model: Model, heads: Sequence[Head] | None) -> float:
    """How many whole passes it takes to remove every head alone, beside one without any edit.

    A model that resumes runs only the layers from that of the removed head on.
    """
    layers = [layer for layer, _ in (heads if heads is not None else model.spec.heads())]
    count = model.spec.n_layers
    return 1.0 + sum((count - layer) / count if model.resumes else 1.0 for layer in layers)


def closed_gates(spec: ModelSpec, sets: Iterable[Iterable[Head]]) -> Tensor:
    """Gates that each close one set of heads: set × layer × head."""
    sets = list(sets)
    gates = torch.ones(len(sets), spec.n_layers, spec.n_heads)
    for number, heads in enumerate(sets):
        for layer, head in heads:
            gates[number, layer, head] = 0.0
    return gates


def measured_without(
    sweep: Sweep,
    measured: Measured,
    heads: Sequence[Head],
    sets: Sequence[tuple[Head, ...]],
) -> Iterator[tuple[Head, Tensor]]:
    """Every head with the measure of all examples when its set is closed; equal sets run once."""
    owners: dict[tuple[Head, ...], list[Head]] = {}
    for head, closed in zip(heads, sets, strict=True):
        owners.setdefault(closed, []).append(head)
    for some in sweep.in_passes(list(owners)):
        gates = closed_gates(sweep.model.spec, some)
        values = measured.values(sweep.scores(gates)).cpu().double()  # set example
        for closed, own in zip(some, values, strict=True):
            yield from ((head, own) for head in owners[closed])
