"""Options of the commands that measure effects of heads on examples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.screen import note
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
        "questions that played no part in choosing heads; test if there are no others)."
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
    names: Sequence[str],
    out: Path,
    seeds: int,
    baseline: bool,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Make a map of every task and its figures, and show their first heads."""
    tasks = files.load_all(names, model.download)
    with model.atlas(out) as atlas:
        maps = map_tasks(atlas, method, tasks, seeds, baseline=baseline)
        for head_map in maps:
            atlas.save_figures(head_map)
    finish(atlas, maps)
    if len(maps) < len(tasks):
        raise typer.Exit(2)


def map_tasks(
    atlas: ha.Atlas,
    method: ha.Method[ha.Task],
    tasks: Sequence[ha.Task],
    seeds: int | None,
    **limits: Any,
) -> list[ha.Map]:
    """The maps of several tasks; one that gives no map does not stop the others."""
    maps = []
    for task in tasks:
        try:
            maps.append(atlas.map(method, task, seeds, **limits))
        except (ha.TaskError, ha.DivergedError) as error:
            if len(tasks) == 1:
                raise
            note(f"{task.name} gives no map: {error}")
    return maps


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
