"""headatlas atlas"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.check_tables import show_leaderboard
from headatlas.cli.probe import show_report
from headatlas.cli.top import finish

QUICK_EXAMPLES = 8
QUICK_EPOCHS = 20
BATCH_SIZE = 8
"""Questions per update of gating: half of the default, since the rows of its tasks are long."""

GATED = ("math", "syntax")
ABLATED = "singular-plural"
PROBED = "cognition"


def atlas(
    *,
    out: given.Out = Path("atlas"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer examples, updates and seeds, for a first look.")
    ] = False,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Seeds of gating and probing (default: 3; quick: 1).")
    ] = None,
    model: given.ModelOptions,
) -> None:
    """Map a model with the built-in tasks and settings.

    Ablation shows what removing each head does to a word task, attribution estimates it, and
    attention shows where heads look; a leaderboard says which of them to trust. Gating shows which
    heads arithmetic and syntax need and which get in their way, always (in every seed) and in any;
    probing shows which heads tell eight cognitive functions apart. The published gating maps have
    ten seeds: with --seeds 10 the same folder continues to them. 'headatlas check' then says
    whether it is true.

    \b
    Examples:
      headatlas atlas
      headatlas atlas --quick --model my-model.gguf --out my-atlas
    """
    seeds = seeds or (1 if quick else 3)
    with model.atlas(out) as study:
        examples = QUICK_EXAMPLES if quick else ha.Ablation.examples
        cheap = (
            ha.Ablation(examples=examples),
            ha.Attribution(examples=examples),
            ha.Attention(examples=examples),
        )
        gating = ha.Gating.quick() if quick else ha.Gating(batch_size=BATCH_SIZE)
        probing = ha.Probing(epochs=QUICK_EPOCHS) if quick else ha.Probing()
        effects = [study.map(method, ABLATED) for method in cheap]
        study.save_figures(*effects)
        gates = [study.map(gating, name, seeds) for name in GATED]
        study.save_figures(*gates)
        functions = study.map(probing, PROBED, seeds)
        report = study.check(functions, PROBED, kind="probe")
        study.save_figures(functions, report)
        questions = QUICK_EXAMPLES if quick else None
        judged = [
            study.check(one, ABLATED, kind="faithfulness", questions=questions) for one in effects
        ]
        study.save_figures(*judged)
        show_report(report)
        for board in study.leaderboards():
            if board.model_hash == study.model.fingerprint:
                show_leaderboard(board)
                study.save_figures(board)
    finish(study, [*effects, *gates, functions])
