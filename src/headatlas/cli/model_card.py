"""The model card of an exported checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

    from headatlas.checks.held_out import HeldOut
    from headatlas.maps import Map


def write_card(
    folder: Path, drawn: Map, name: str, seed: str, gate: Tensor, rows: list[HeldOut]
) -> Path:
    """Write README.md: what was done to which model, and what it does to the task."""
    path = folder / "README.md"
    path.write_text(card(drawn, name, seed, gate, rows), encoding="utf-8")
    return path


def card(drawn: Map, name: str, seed: str, gate: Tensor, rows: list[HeldOut]) -> str:
    """The card's text."""
    facts = drawn.provenance
    plain, gated = rows
    low = int((gate < 0.5).sum())
    closed = (
        f"{low} of {gate.numel()} gates are below 0.5; the mean gate is {float(gate.mean()):.2f}."
    )
    table = "\n".join(
        f"| {row.gates} | {row.loss:.3f} | {row.accuracy:.0%} |" for row in (plain, gated)
    )
    return f"""---
base_model: {facts["model"]}
tags:
- attention-heads
- headatlas
---

# {str(facts["model"]).rstrip("/").rsplit("/", 1)[-1]} with gated heads for {facts["task"]}

Every attention head's columns of the output projection were multiplied by a learned gate; nothing
else was changed, so the model loads and runs as the original does. The gates are {name} of causal
head gating (Nam et al., arXiv 2505.13737) for the task `{facts["task"]}`, seed {seed}. {closed}

On {gated.questions} test questions of the task that were used neither for learning gates nor for
choosing them (loss in nats a token; accuracy is exact targets):

| model | loss | accuracy |
|---|---|---|
{table}

Change of the loss: {gated.change:+.3f} (95 % interval over questions {gated.low:+.3f} to
{gated.high:+.3f}). The gates were learned for this task alone: expect the model to be worse at
others. The licence of the original model applies.

- original model: `{facts["model"]}`, hash `{facts["model_hash"]}`
- task: `{facts["task"]}`, hash `{facts["task_hash"]}`
- gating settings: `{facts["settings"]}`
- made with headatlas {__version__}
"""
