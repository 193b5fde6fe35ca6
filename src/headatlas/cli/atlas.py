"""headatlas atlas"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from headatlas.cli import options as given
from headatlas.cli.screen import waiting

QUICK_EXAMPLES = 8


def atlas(
    *,
    out: given.Out = Path("atlas"),
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer examples, for a first look.")
    ] = False,
    model: given.ModelOptions,
) -> None:
    """Map a model with the built-in settings: what removing each head does to a built-in task.

    \b
    Examples:
      headatlas atlas
      headatlas atlas --quick --model my-model.gguf --out my-atlas
    """
    with waiting("starting"):
        from headatlas.cli.work import run_and_draw
        from headatlas.methods import Ablation
        from headatlas.runs.store import Store
        from headatlas.tasks import load_task

    Store(out).check()
    task = load_task("singular-plural")
    method = Ablation(examples=QUICK_EXAMPLES) if quick else Ablation()
    run_and_draw(model, task, method, 1, out)
