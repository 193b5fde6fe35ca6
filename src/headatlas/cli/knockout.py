"""headatlas knockout"""

from __future__ import annotations

from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import effect_options as effect
from headatlas.cli import options as given


def knockout(
    *,
    out: given.Out,
    task: given.WordTasks = None,
    evaluations: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="How often a set of heads is removed (default: a third of the number of heads, at "
            "least 48).",
        ),
    ] = None,
    examples: effect.Examples = 32,
    split: effect.Split = None,
    replacement: effect.ReplacementName = effect.Replacement.zero,
    measure: effect.MeasureName = effect.Measure.logprob,
    keep_examples: effect.KeepExamples = False,
    seeds: given.Seeds = 1,
    baseline: given.Baseline = True,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Find the few heads that a task needs most, with few removals.

    Random sets of heads are removed together; a Lasso on the results names suspicious heads, which
    are then removed alone. Where the map's `alone` is 1 the `effect` is exact, as in 'ablate';
    elsewhere it is an estimate. Use 'ablate' for the effect of every head.

    \b
    Examples:
      headatlas knockout --task ioi --out atlas
      headatlas knockout --evaluations 60 --measure difference --out atlas
    """
    method = ha.Knockout(
        evaluations=evaluations,
        examples=examples,
        split=split,
        replacement=replacement.value,
        measure=measure.value,
        keep_examples=keep_examples,
    )
    effect.run_method(method, task or [given.WORD_TASK], out, seeds, baseline, model, files)
