"""headatlas atlas"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headatlas.cli import options as given
from headatlas.cli.screen import waiting

QUICK_EXAMPLES = 8
QUICK_STEPS = 8
QUICK_EPOCHS = 20
BATCH = 8
"""Questions an update: the rows of the two gated tasks are long."""

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
    """Map a model with the built-in settings: heads removed one by one, heads gated, heads probed.

    Ablation shows what removing each head does to a word task; gating shows which heads arithmetic
    and syntax need and which are in their way, always (in every seed) and ever; probing shows which
    heads tell eight cognitive functions apart. The published gating maps have ten seeds: with
    --seeds 10 the same folder goes on to them. 'headatlas check' then says whether it is true.

    \b
    Examples:
      headatlas atlas
      headatlas atlas --quick --model my-model.gguf --out my-atlas
    """
    with waiting("starting"):
        from headatlas.cli.gate import gate_tasks
        from headatlas.cli.probe import probe_suite
        from headatlas.cli.work import load_verified, name_files, run_and_draw, write_run
        from headatlas.methods import Ablation, Gating, Probing
        from headatlas.runs.store import Store
        from headatlas.tasks import load_task

    Store(out).check()
    ablation = Ablation(examples=QUICK_EXAMPLES) if quick else Ablation()
    gating = Gating(steps=QUICK_STEPS, batch_size=BATCH) if quick else Gating(batch_size=BATCH)
    loaded, checks = load_verified(model)
    run, written = run_and_draw(loaded, checks, load_task(ABLATED), ablation, 1, out)
    tasks = [load_task(name) for name in GATED]
    seeds = seeds or (1 if quick else 3)
    runs, more = gate_tasks(loaded, checks, tasks, gating, seeds, out)
    probing = Probing(epochs=QUICK_EPOCHS) if quick else Probing()
    probed, functions = probe_suite(loaded, checks, load_task(PROBED), probing, seeds, out)
    name_files([*written, *more, *functions, write_run(out, [run, *runs, probed])])
