"""Options of the commands that measure effects of heads on examples."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.top import finish


class Measure(StrEnum):
    """What is measured on every example."""

    logprob = "logprob"
    difference = "difference"
    probability = "probability"
    accuracy = "accuracy"


class Replacement(StrEnum):
    """What takes the place of a removed head's output."""

    zero = "zero"
    mean = "mean"
    resample = "resample"


class Positions(StrEnum):
    """Where heads are removed or patched."""

    all = "all"
    last = "last"
    changed = "changed"


Examples = Annotated[int, typer.Option(min=2, help="Number of examples, drawn by the seed.")]
Split = Annotated[
    str | None,
    typer.Option(
        help="Which questions: train, select or test (default: train, so that 'check' has test "
        "questions that chose no heads; test if there are no others)."
    ),
]
MeasureName = Annotated[
    Measure,
    typer.Option(
        help="What is measured: mean log P of the target's tokens; log P difference between the "
        "target and the other choices (or the corrupted target); P of the target; accuracy."
    ),
]
ReplacementName = Annotated[
    Replacement,
    typer.Option(
        help="What replaces a removed head: nothing, its mean output, or its output on another "
        "training example."
    ),
]
PositionNames = Annotated[
    Positions,
    typer.Option(
        help="Where: at all positions, at the last of the prompt (which predicts the target), or "
        "where the corrupted prompt differs (a question's subject, the demonstrations' answers)."
    ),
]
KeepExamples = Annotated[
    bool, typer.Option("--keep-examples", help="Keep the effect on every example in the map.")
]
Heads = Annotated[
    str | None, typer.Option(help="Only these heads, as LAYER.HEAD: 3.5,4.0 (default: all).")
]


def run_method(
    method: ha.Method[ha.Task],
    task: str,
    out: Path,
    seeds: int,
    baseline: bool,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Make the map and its figures, and show its first heads."""
    subject = files.load(task, model.download)
    with model.atlas(out) as atlas:
        head_map = atlas.map(method, subject, seeds, baseline=baseline)
        atlas.save_figures(head_map)
    finish(atlas, [head_map])


def parse_heads(text: str | None) -> tuple[tuple[int, int], ...] | None:
    """Heads written as LAYER.HEAD, separated by commas."""
    if text is None:
        return None
    heads = []
    for word in filter(None, re.split(r"[,\s]+", text)):
        match = re.fullmatch(r"(\d+)\.(\d+)", word)
        if not match:
            raise ha.HeadAtlasError(f"'{word}' is not a head: write LAYER.HEAD, such as 3.5.")
        heads.append((int(match[1]), int(match[2])))
    return tuple(heads)
