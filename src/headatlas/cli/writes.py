"""headatlas writes"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import effect_options as effect
from headatlas.cli import options as given


class DirectMeasure(StrEnum):
    """What the target's logit is compared with."""

    logit = "logit"
    difference = "difference"


def writes(
    *,
    out: given.Out,
    task: given.PairedTasks = None,
    measure: Annotated[
        DirectMeasure,
        typer.Option(
            help="The target's logit above the mean logit, or above those of the other choices (or "
            "the corrupted target)."
        ),
    ] = DirectMeasure.logit,
    tokens: Annotated[
        int, typer.Option(min=1, help="Number of tokens to keep that a head promotes most.")
    ] = 5,
    examples: effect.Examples = 32,
    split: effect.Split = None,
    keep_examples: effect.KeepExamples = False,
    seeds: given.Seeds = 1,
    baseline: given.Baseline = True,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Read what every head writes as logits: direct logit attribution.

    The map's `direct_logit` is the share of the logit of the target's first token that the head's
    own output has, past all later layers: positive where the head itself speaks for the target.
    `promoted` and `suppressed` are the tokens whose logits it raises and lowers most. The shares of
    all heads, MLPs, the embedding and biases add up to the logit. What later layers make of a
    head's output is not in it: 'headatlas compare' says how far it agrees with 'ablate'.

    \b
    Examples:
      headatlas writes --task ioi --out atlas
      headatlas writes --task ioi --measure difference --tokens 10 --out atlas
      headatlas writes --model Qwen/Qwen3-0.6B --task my.jsonl --out atlas
    """
    method = ha.Writes(
        examples=examples,
        split=split,
        measure=measure.value,
        tokens=tokens,
        keep_examples=keep_examples,
    )
    effect.run_method(method, task or [given.PAIRED_TASK], out, seeds, baseline, model, files)
