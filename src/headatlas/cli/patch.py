"""headatlas patch"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import effect_options as effect
from headatlas.cli import options as given


class Direction(StrEnum):
    """Into which run outputs are patched."""

    both = "both"
    denoise = "denoise"
    noise = "noise"


def patch(
    *,
    out: given.Out,
    task: given.PairedTasks = None,
    direction: Annotated[
        Direction,
        typer.Option(
            help="denoise: clean outputs into the corrupted run; noise: corrupted outputs into the "
            "clean run; or both."
        ),
    ] = Direction.both,
    positions: effect.PositionNames = effect.Positions.last,
    heads: effect.Heads = None,
    examples: effect.Examples = 32,
    split: effect.Split = None,
    measure: effect.MeasureName = effect.Measure.logprob,
    keep_examples: effect.KeepExamples = False,
    seeds: given.Seeds = 1,
    baseline: given.Baseline = True,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Put a head's output of one run into another: causal mediation with corrupted prompts.

    The map's `indirect_effect` is the change of the measure when the head's clean output stands in
    the corrupted run: positive where the head carries what was corrupted. `effect` is the change
    when its corrupted output stands in the clean run: negative where the task needs it. The task
    needs corrupted prompts: word-pair tasks shuffle the answers of their demonstrations, ioi, aba
    and abb swap roles, and files have a column 'corrupted'.

    \b
    Examples:
      headatlas patch --task ioi --measure difference --out atlas
      headatlas patch --task antonym:icl=10 --direction denoise --out atlas
      headatlas patch --task my.jsonl --positions changed --out atlas
    """
    method = ha.Patching(
        heads=effect.parse_heads(heads),
        examples=examples,
        split=split,
        direction=direction.value,
        positions=positions.value,
        measure=measure.value,
        keep_examples=keep_examples,
    )
    effect.run_method(method, task or [given.PAIRED_TASK], out, seeds, baseline, model, files)
