"""Whether a model's shortcuts, a cached prefix and packed rows, give what rows give alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from headatlas.models.edit import Edit
from headatlas.models.heads.closeness import COARSEST, NOT_SUPPORTED, relative_gap, tolerance
from headatlas.models.heads.watch import probe_tokens
from headatlas.models.run.packing import longest_packable
from headatlas.models.run.sweep import Sweep, SweepPlan
from headatlas.models.tokens import Tokens

if TYPE_CHECKING:
    from headatlas.models.model import Model

GRADIENT_ROUNDING = 16
"""How much larger the rounding error of a gradient may be than that of a pass: it comes back
through all layers. A cache or a mask that is not obeyed is off by a thousand times that."""

PROBE_LENGTH = 9
"""Tokens of the rows that shortcuts are tried on."""


def continues_from_cache(model: Model) -> bool:
    """Whether rows that share a cached prefix score as they do alone, also with gradient."""
    return _scores_as_alone(model, share=True, pack=False)


def packs(model: Model) -> bool:
    """Whether rows packed into one score as they do alone, also with gradient."""
    return longest_packable(model) >= PROBE_LENGTH and _scores_as_alone(
        model, share=True, pack=True
    )


@torch.no_grad()
def resumes(model: Model) -> bool:
    """Whether a pass that begins at any layer, with the residual stream of an earlier pass, scores
    rows as a whole pass does."""
    rows = _probe_rows(model)
    spec = model.spec
    layers = [number for number, layer in enumerate(spec.layers) if layer]
    edited = layers[len(layers) // 2]
    gates = torch.ones(2, spec.n_layers, spec.n_heads)
    gates[:, edited] = torch.rand(2, spec.n_heads, generator=torch.Generator().manual_seed(2))
    alone = [model.score(rows, Edit(gate=gate), share=False, pack=False).mean() for gate in gates]
    sweep = Sweep(model, SweepPlan(tuple(rows)), resume=True)
    limit = tolerance(model)
    try:
        gaps = [relative_gap(sweep.scores(gates).mean(), torch.stack(alone))]
        gaps += [relative_gap(sweep.resumed(at).mean(), sweep.plain.mean()) for at in layers]
    except NOT_SUPPORTED:
        return False
    return max(gaps) <= limit


def _probe_rows(model: Model) -> list[Tokens]:
    """Three short rows with a shared prefix."""
    ids = probe_tokens(model.hf, rows=3, length=PROBE_LENGTH)
    shared = tuple(ids[0, :5].tolist())
    return [Tokens(shared + tuple(ids[r, 5 : 7 + r].tolist()), 6) for r in range(3)]


@torch.no_grad()
def _scores_as_alone(model: Model, *, share: bool, pack: bool) -> bool:
    generator = torch.Generator().manual_seed(1)
    rows = _probe_rows(model)
    gate = torch.rand(model.spec.n_layers, model.spec.n_heads, generator=generator)
    results = []
    for ways in ({"share": False, "pack": False}, {"share": share, "pack": pack}):
        leaf = gate.clone().requires_grad_()
        try:
            with torch.enable_grad():
                scores = model.score(rows, Edit(gate=leaf), **ways).mean()
                scores.sum().backward()
        except NOT_SUPPORTED:
            return False
        assert leaf.grad is not None
        results.append((scores.detach(), leaf.grad))
    (plain, plain_grad), (other, other_grad) = results
    limit = tolerance(model)
    return relative_gap(other, plain) <= limit and relative_gap(other_grad, plain_grad) <= min(
        GRADIENT_ROUNDING * limit, 2 * COARSEST
    )
