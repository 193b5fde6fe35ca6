"""Does an edit of a head do what it claims, on this very model?

Every run checks this before it computes anything. No text is needed: a few tokens are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from headatlas.errors import VerificationError
from headatlas.models.edit import Edit
from headatlas.models.heads.closeness import relative_gap, tolerance
from headatlas.models.heads.survey import head_columns
from headatlas.models.heads.watch import probe_tokens
from headatlas.models.run.passes import pad_right
from headatlas.models.spec import Head
from headatlas.models.tokens import Tokens
from headatlas.models.weights import call_with_weights, load_weight

if TYPE_CHECKING:
    from headatlas.models.model import Model

ROWS_PER_PASS = 128
LENGTH = 6


@dataclass(frozen=True)
class Check:
    """One property of the edited model: the question, whether it holds, and the evidence."""

    name: str
    question: str
    passed: bool
    detail: str


def verify(model: Model) -> tuple[Check, ...]:
    """Run all checks on a model; a model that cannot run with edits fails a single one, "runs".

    >>> from headatlas import load_model, verify
    >>> all(check.passed for check in verify(load_model("smollm2-135m")))
    True
    """
    try:
        return _run_checks(model)
    except Exception as error:
        # an attention implementation or a model's own code may raise anything
        detail = " ".join(str(error).split())[:200] or type(error).__name__
        return (Check("runs", "does the model run with edits?", False, detail),)


def _run_checks(model: Model) -> tuple[Check, ...]:
    tokens = probe_tokens(model.hf, length=LENGTH)
    plain = _logits(model, tokens)
    dead = dead_heads(model, tokens)
    return (
        _check_causal(model, tokens, plain),
        _check_open_gate(model, tokens, plain),
        _check_closed_gate(model, tokens),
        _check_every_head(model, tokens, dead),
        _check_gradient(model, tokens, dead),
    )


def require_verified(model: Model) -> tuple[Check, ...]:
    """The checks of a model, computed once; a model that fails one is refused."""
    checks = model.checks
    if failed := [check for check in checks if not check.passed]:
        reasons = "; ".join(f"{check.name}: {check.detail}" for check in failed)
        raise VerificationError(
            f"{model.spec.name} cannot be mapped, since edits of its heads do not hold ({reasons})."
        )
    return checks


@torch.no_grad()
def dead_heads(model: Model, tokens: Tensor) -> set[Head]:
    """Heads that add exactly nothing to the output projection's result, by their weights alone."""
    modules = dict(model.hf.named_modules())
    inputs: dict[int, Tensor] = {}

    def keep(layer: int) -> Callable[..., None]:
        def hook(module: nn.Module, args: tuple[Tensor, ...]) -> None:
            inputs[layer] = args[0]

        return hook

    layers = [(i, layer) for i, layer in enumerate(model.spec.layers) if layer]
    handles = [modules[s.projection].register_forward_pre_hook(keep(i)) for i, s in layers]
    try:
        _logits(model, tokens)
    finally:
        for handle in handles:
            handle.remove()
    dead: set[Head] = set()
    for i, spec in layers:
        projection = modules[spec.projection]
        x = inputs[i].unflatten(-1, (spec.heads, spec.d_head))
        weight = load_weight(model.hf, f"{spec.projection}.weight")
        weight = head_columns(projection, weight).unflatten(-1, x.shape[-2:])
        for head in range(spec.heads):
            added = x[..., head, :].to(weight) @ weight[:, head].T
            if not added.any():
                dead.add((i, head))
    return dead


def _check_causal(model: Model, tokens: Tensor, plain: Tensor) -> Check:
    changed = tokens.clone()
    changed[:, -1] = (changed[:, -1] + 1) % plain.shape[-1]
    gap = relative_gap(_logits(model, changed)[:, :-1], plain[:, :-1])
    return Check(
        "causal",
        "do later tokens leave earlier positions alone?",
        gap <= tolerance(model),
        f"largest relative difference {gap:.1e}",
    )


def _check_open_gate(model: Model, tokens: Tensor, plain: Tensor) -> Check:
    gate = torch.ones(model.spec.n_layers, model.spec.n_heads)
    gap = relative_gap(_logits(model, tokens, Edit(gate=gate)), plain)
    return Check(
        "gate 1",
        "does gate 1 on every head change nothing?",
        gap <= torch.finfo(model.hf.dtype).eps,
        f"largest relative difference {gap:.1e}",
    )


def _check_closed_gate(model: Model, tokens: Tensor) -> Check:
    """Compare gates with weights: groups of heads, such that any two heads are told apart."""
    groups = list(_head_groups(model.spec.n_heads))
    worst, at = 0.0, ""
    for heads in groups:
        gate = torch.ones(model.spec.n_layers, model.spec.n_heads)
        gate[:, heads] = 0.0
        edited = _logits(model, tokens, Edit(gate=gate))
        gap = relative_gap(edited, _logits(model, tokens, weights=_without_columns(model, heads)))
        if not gap <= worst:
            worst, at = gap, f" (heads {heads})"
    return Check(
        "gate 0",
        "does gate 0 equal removing the head's columns from the output projection?",
        worst <= tolerance(model),
        f"largest relative difference {worst:.1e}{at} in {len(groups)} groups of heads",
    )


def _head_groups(n_heads: int) -> Iterator[list[int]]:
    """Groups by the bits of the heads' numbers, counted from 1.

    Every head is in a group, and any two heads differ in one: with few passes, each head's columns
    are told from every other's.
    """
    for bit in range(n_heads.bit_length()):
        yield [head for head in range(n_heads) if (head + 1) >> bit & 1]


def _without_columns(model: Model, heads: list[int]) -> dict[str, Tensor]:
    """Output-projection weights with the columns of the heads set to zero, by parameter name."""
    modules = dict(model.hf.named_modules())
    weights: dict[str, Tensor] = {}
    for spec in model.spec.layers:
        if spec is None:
            continue
        projection = modules[spec.projection]
        weight = load_weight(model.hf, f"{spec.projection}.weight").detach().clone()
        columns = head_columns(projection, weight).unflatten(-1, (spec.heads, spec.d_head))
        columns[:, [head for head in heads if head < spec.heads]] = 0
        weights[f"{spec.projection}.weight"] = weight
    return weights


def _check_every_head(model: Model, tokens: Tensor, dead: set[Head]) -> Check:
    """Remove every head alone; one token is enough for most, silent heads get the whole text."""
    heads = [head for head in model.spec.heads() if head not in dead]
    silent = _silent_heads(model, _silent_heads(model, heads, tokens[:, :1]), tokens)
    detail = f"{len(heads) - len(silent)} of {len(heads)} heads change the output"
    if silent:
        detail += f"; not {_named(silent)}"
    if dead:
        detail += f"; {len(dead)} more are dead by their weights: {_named(sorted(dead))}"
    return Check("every head", "can every head change the output?", not silent, detail)


def _silent_heads(model: Model, heads: list[Head], tokens: Tensor) -> list[Head]:
    """Heads whose removal changes nothing; many rows at a time, each row with its own edit."""
    silent: list[Head] = []
    for start in range(0, len(heads), ROWS_PER_PASS):
        part = heads[start : start + ROWS_PER_PASS]
        gate = torch.ones(len(part) + 1, model.spec.n_layers, model.spec.n_heads)
        for row, (layer, head) in enumerate(part):
            gate[row, layer, head] = 0.0
        logits = _logits(model, tokens.expand(len(gate), -1), Edit(gate=gate))
        changed = (logits[:-1] != logits[-1:]).any(-1).any(-1)  # the last row is untouched
        silent += [head for head, moved in zip(part, changed.tolist(), strict=True) if not moved]
    return silent


def _check_gradient(model: Model, tokens: Tensor, dead: set[Head]) -> Check:
    gate = torch.ones(model.spec.n_layers, model.spec.n_heads, requires_grad=True)
    row = Tokens(tuple(tokens[0].tolist()), 1)
    with torch.enable_grad():
        score = model.score([row], Edit(gate=gate), share=False).mean().sum()
        if score.requires_grad:
            score.backward()
    grad = gate.grad
    heads = [head for head in model.spec.heads() if head not in dead]
    bad = heads if grad is None else [h for h in heads if not _is_gradient(grad[h])]
    detail = f"{len(heads) - len(bad)} of {len(heads)} gates get one"
    if bad:
        detail += f"; not {_named(bad)}"
    return Check("gradient", "does the gradient reach every gate?", not bad, detail)


@torch.no_grad()
def _logits(
    model: Model,
    tokens: Tensor,
    edit: Edit | None = None,
    weights: dict[str, Tensor] | None = None,
) -> Tensor:
    ids, mask = pad_right(tokens.tolist(), model.device)
    inputs = {"input_ids": ids, "attention_mask": mask, "use_cache": False}
    with model.editing(edit) if edit else nullcontext():
        out = call_with_weights(model.hf, weights or {}, inputs)
    logits: Tensor = out.logits.float()
    return logits


def _is_gradient(value: Tensor) -> bool:
    return bool(value.isfinite() and value != 0)


def _named(heads: list[Head]) -> str:
    shown = ", ".join(f"{layer}.{head}" for layer, head in heads[:8])
    return shown + (", …" if len(heads) > 8 else "")
