"""headatlas attribute"""

from __future__ import annotations

from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import effect_options as effect
from headatlas.cli import options as given


def attribute(
    *,
    out: given.Out,
    task: given.WordTasks = None,
    examples: effect.Examples = 32,
    split: effect.Split = None,
    integrated: Annotated[
        bool,
        typer.Option(
            "--integrated",
            help="Integrated gradients: averaged over at most 64 points of the path from removed "
            "heads to the model. Slower; the effects then sum to that of removing all heads.",
        ),
    ] = False,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1, help="Integrated gradients with at most this many points of the path (from 5)."
        ),
    ] = None,
    replacement: effect.ReplacementName = effect.Replacement.mean,
    measure: effect.MeasureName = effect.Measure.logprob,
    keep_examples: effect.KeepExamples = False,
    seeds: given.Seeds = 1,
    baseline: given.Baseline = True,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Estimate the effect of removing every head from gradients, all at once.

    One forward and one backward pass give a first-order estimate for all heads (attribution
    patching). It is fast and rough: 'headatlas compare' says how far it agrees with 'ablate'. With
    --integrated the effects of all heads sum to that of removing them all; a caution tells where
    they miss it by more than 2 %, as they often do with the replacement zero.

    \b
    Examples:
      headatlas attribute --task ioi --measure difference --out atlas
      headatlas attribute --task syntax --integrated --out atlas
    """
    make = ha.Attribution.integrated if integrated else ha.Attribution
    method = make(
        **({} if steps is None else {"steps": steps}),
        examples=examples,
        split=split,
        replacement=replacement.value,
        measure=measure.value,
        keep_examples=keep_examples,
    )
    effect.run_method(method, task or [given.WORD_TASK], out, seeds, baseline, model, files)
