"""Whether a model's shortcuts, a cached prefix and packed rows, give what rows give alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from headatlas.models.edit import Edit
from headatlas.models.heads.closeness import COARSEST, relative_gap, tolerance
from headatlas.models.heads.watch import probe_tokens
from headatlas.models.run.packing import has_full_attention
from headatlas.models.tokens import Tokens

if TYPE_CHECKING:
    from headatlas.models.model import Model

GRADIENT_ROUNDING = 16
"""How much larger the rounding error of a gradient may be than that of a pass: it comes back
through all layers. A cache or a mask that is not obeyed is off by a thousand times that."""


def continues_from_cache(model: Model) -> bool:
    """Whether rows that share a cached prefix score as they do alone, also with gradient."""
    return _scores_as_alone(model, share=True, pack=False)


def packs(model: Model) -> bool:
    """Whether rows packed into one score as they do alone, also with gradient."""
    return has_full_attention(model) and _scores_as_alone(model, share=True, pack=True)


@torch.no_grad()
def _scores_as_alone(model: Model, *, share: bool, pack: bool) -> bool:
    generator = torch.Generator().manual_seed(1)
    ids = probe_tokens(model.hf, rows=3, length=9)
    shared = tuple(ids[0, :5].tolist())
    rows = [Tokens(shared + tuple(ids[r, 5 : 7 + r].tolist()), 6) for r in range(3)]
    gate = torch.rand(model.spec.n_layers, model.spec.n_heads, generator=generator)
    results = []
    for ways in ({"share": False, "pack": False}, {"share": share, "pack": pack}):
        leaf = gate.clone().requires_grad_()
        try:
            with torch.enable_grad():
                scores = model.score(rows, Edit(gate=leaf), **ways).mean()
                scores.sum().backward()
        except (RuntimeError, TypeError, ValueError, AttributeError, IndexError, KeyError):
            return False  # the model does not support it; it then is not used
        assert leaf.grad is not None
        results.append((scores.detach(), leaf.grad))
    (plain, plain_grad), (other, other_grad) = results
    limit = tolerance(model)
    return relative_gap(other, plain) <= limit and relative_gap(other_grad, plain_grad) <= min(
        GRADIENT_ROUNDING * limit, 2 * COARSEST
    )
