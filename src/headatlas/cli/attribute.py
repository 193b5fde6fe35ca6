"""headatlas attribute"""

from __future__ import annotations

from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import effect_options as effect
from headatlas.cli import options as given
from headatlas.cli.top import finish


def attribute(
    *,
    out: given.Out,
    task: given.TaskName = "singular-plural",
    examples: effect.Examples = 32,
    split: effect.Split = None,
    steps: Annotated[
        int,
        typer.Option(
            min=1,
            help="1: the gradient; 5 or more: integrated gradients, better the more there are (the "
            "map states which share they leave unexplained).",
        ),
    ] = 1,
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
    patching). It is fast and rough: 'headatlas compare' says how far it agrees with 'ablate'.

    \b
    Examples:
      headatlas attribute --task ioi --measure difference --out atlas
      headatlas attribute --task syntax --steps 48 --out atlas
    """
    method = ha.Attribution(
        examples=examples,
        split=split,
        steps=steps,
        replacement=replacement.value,
        measure=measure.value,
        keep_examples=keep_examples,
    )
    subject = files.load(task, model.download)
    with model.atlas(out) as atlas:
        head_map = atlas.map(method, subject, seeds, baseline=baseline)
        atlas.save_figures(head_map)
    finish(atlas, [head_map])
