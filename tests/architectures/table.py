"""The table of architectures: every causal LM of the installed transformers, verified small."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from architectures.small_models import UNBUILDABLE, architectures, build
from headatlas.errors import ModelError
from headatlas.models.heads.verify import verify
from headatlas.models.heads.watch import probe_tokens
from headatlas.models.model import Model
from headatlas.models.run.passes import logits_at

REASONS = {
    "blt": "the heads of its byte patcher only choose boundaries: they cannot change the output "
    "by degrees, and no gradient reaches them",
    "cpmant": "not causal: its first tokens see each other in both directions",
    "deepseek_v4": "heads are rotated back and projected in groups: no matrix has columns of "
    "single heads",
    "diffllama": "heads are subtracted in pairs and normalised before the output projection",
    "falcon_mamba": "no attention heads (state-space model)",
    "jetmoe": "the output projection is chosen by routing, token by token",
    "mamba": "no attention heads (state-space model)",
    "mamba2": "no attention heads (state-space model)",
    "prophetnet": "two streams of tokens go through one attention, not one sequence",
    "reformer": "hashed attention in reversible layers, which pass no gradient to gates",
    "rwkv": "no attention heads (recurrent model)",
    "xlnet": "not causal, and its output projection is not a module",
    "xlstm": "no attention heads (recurrent model)",
}
"""What the program's own words mean for architectures that it refuses."""


@dataclass(frozen=True)
class Row:
    """The outcome for one architecture."""

    model_type: str
    class_name: str
    verified: bool
    site: str
    shares: bool
    reason: str
    picks: bool = True


@contextmanager
def quiet() -> Iterator[None]:
    """Old architectures warn about much that does not matter here."""
    level = transformers.logging.get_verbosity()
    threads = torch.get_num_threads()
    transformers.logging.set_verbosity(logging.CRITICAL)
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        transformers.logging.set_verbosity(level)
        torch.set_num_threads(threads)


def examine(model_type: str) -> Row:
    """Build an architecture small and put it through the verification."""
    class_name = MODEL_FOR_CAUSAL_LM_MAPPING_NAMES[model_type]
    if model_type in UNBUILDABLE:
        return Row(model_type, class_name, False, "", False, UNBUILDABLE[model_type])
    with quiet():
        try:
            model = Model(build(model_type), None, model_type)
        except ModelError as error:
            return Row(model_type, class_name, False, "", False, str(error))
        failed = [check for check in verify(model) if not check.passed]
        site = ", ".join(sorted({layer.site for layer in model.spec.layers if layer}))
        reason = "; ".join(f"{check.name}: {check.detail}" for check in failed)
        shares = not failed and model.continues_from_cache
        picks = bool(failed) or picks_places(model)
    return Row(model_type, class_name, not failed, site, shares, reason, picks)


@torch.no_grad()
def picks_places(model: Model) -> bool:
    """Whether logits at chosen places are those of the whole batch there.

    With as many rows as positions, a model that passes its projection states in another order
    could not be told by their shape.
    """
    ids = probe_tokens(model.hf, rows=5, length=5)
    mask = torch.ones_like(ids)
    rows, positions = torch.tensor([4, 0, 2, 1, 1]), torch.tensor([1, 3, 0, 4, 2])
    whole = model.hf(input_ids=ids, attention_mask=mask, use_cache=False).logits
    picked = logits_at(model.hf, ids, mask, (rows, positions))
    return torch.allclose(picked, whole[rows, positions], rtol=1e-4, atol=1e-4)


def examine_all() -> list[Row]:
    return [examine(model_type) for model_type in architectures()]


def page(rows: list[Row]) -> str:
    """The page as Markdown."""
    verified = [row for row in rows if row.verified]
    others = [row for row in rows if not row.verified]
    lines = [
        "# Architectures",
        "",
        "Every causal-LM architecture of transformers "
        f"{transformers.__version__}, built small with random weights and put through the",
        "verification of `headatlas doctor`. Written by `make docs`; the tests fail when it is out "
        "of date.",
        "",
        f"**{len(verified)} of {len(rows)} are verified.** *Edited at*: where a head's output is "
        "edited, at the attention",
        "function or at the input of the output projection. *Shared prefix*: whether a prefix that "
        "all",
        "prompts share is computed once, with the same numbers and gradients; where not, prompts "
        "run whole.",
        "",
        "| model type | class | edited at | shared prefix |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {row.model_type} | {row.class_name} | {row.site} | {'yes' if row.shares else 'no'} |"
        for row in verified
    ]
    lines += ["", "## Not verified", "", "| model type | class | reason |", "|---|---|---|"]
    lines += [
        f"| {row.model_type} | {row.class_name} | {REASONS.get(row.model_type, row.reason)} |"
        for row in others
    ]
    return "\n".join(lines) + "\n"
