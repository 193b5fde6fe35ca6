"""headatlas attention"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import effect_options as effect
from headatlas.cli import options as given

Score = StrEnum(
    "Score",
    [
        "induction",
        "previous_token",
        "duplicate_token",
        "first_token",
        "target_token",
        "entropy",
    ],
)
"""What ranks the heads."""


def attention(
    *,
    out: given.Out,
    task: given.PairedTasks = None,
    score: Annotated[
        Score,
        typer.Option(
            help="What ranks heads: attention to what followed earlier occurrences of a token; to "
            "the previous token; to earlier occurrences; to the first token; from the last "
            "position to the target's first token in the prompt; or the entropy of attention."
        ),
    ] = Score.induction,
    examples: effect.Examples = 32,
    split: effect.Split = None,
    keep_examples: effect.KeepExamples = False,
    seeds: given.Seeds = 1,
    baseline: given.Baseline = True,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Describe what every head attends to on the prompts of a task.

    The map has six scores of attention patterns: induction, previous token, duplicate token, first
    token, the target's token in the prompt, and entropy. One of them ranks heads. They describe and
    say nothing of effects: 'headatlas compare' says how far they agree with 'ablate'. P-values are
    those of more attention (of another entropy) than that of a head that attends evenly to all
    tokens.

    \b
    Examples:
      headatlas attention --task ioi --out atlas
      headatlas attention --task ioi --score target_token --out atlas
      headatlas attention --model Qwen/Qwen3-0.6B --task my.jsonl --score entropy --out atlas
    """
    method = ha.Attention(
        examples=examples, split=split, score=score.value, keep_examples=keep_examples
    )
    effect.run_method(method, task or [given.PAIRED_TASK], out, seeds, baseline, model, files)
