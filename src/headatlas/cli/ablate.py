"""headatlas ablate"""

from __future__ import annotations

from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import effect_options as effect
from headatlas.cli import options as given


def ablate(
    *,
    out: given.Out,
    task: given.WordTasks = None,
    heads: effect.Heads = None,
    examples: effect.Examples = 32,
    split: effect.Split = None,
    replacement: effect.ReplacementName = effect.Replacement.zero,
    measure: effect.MeasureName = effect.Measure.logprob,
    positions: effect.PositionNames = effect.Positions.all,
    groups: Annotated[
        bool, typer.Option("--groups", help="Remove all heads of a key/value group together.")
    ] = False,
    keep_examples: effect.KeepExamples = False,
    seeds: given.Seeds = 1,
    baseline: given.Baseline = True,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Remove every head alone and measure how the task changes.

    The map's `effect` is the change of the measure when a head is removed: negative where the task
    needs the head. It is exact; what lies below a head is computed once for all. Each seed draws
    its own questions and demonstrations. Running the same command again continues where it stopped.

    \b
    Examples:
      headatlas ablate --out atlas
      headatlas ablate --model Qwen/Qwen3-0.6B --task my.jsonl --out atlas
      headatlas ablate --task ioi --measure difference --replacement mean --out atlas
      headatlas ablate --heads 0.3,12.7 --keep-examples --out atlas
    """
    method = ha.Ablation(
        heads=effect.parse_heads(heads),
        examples=examples,
        split=split,
        replacement=replacement.value,
        measure=measure.value,
        positions=positions.value,
        unit="group" if groups else "head",
        keep_examples=keep_examples,
    )
    effect.run_method(method, task or [given.WORD_TASK], out, seeds, baseline, model, files)
