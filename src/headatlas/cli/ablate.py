"""headatlas ablate"""

from __future__ import annotations

import re
from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.top import finish


def ablate(
    *,
    out: given.Out,
    task: given.TaskName = "singular-plural",
    heads: Annotated[
        str | None, typer.Option(help="Only these heads, as LAYER.HEAD: 3.5,4.0 (default: all).")
    ] = None,
    examples: Annotated[
        int, typer.Option(min=2, help="Number of test examples, drawn by the seed.")
    ] = 32,
    seeds: given.Seeds = 1,
    baseline: given.Baseline = True,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Remove every head alone and measure how the task changes.

    The map's `effect` is the change of the mean target log-probability when a head is removed:
    negative where the task needs the head. Each seed draws its own questions and demonstrations.
    Running the same command again continues where it stopped.

    \b
    Examples:
      headatlas ablate --out atlas
      headatlas ablate --model Qwen/Qwen3-0.6B --task my.jsonl --out atlas
      headatlas ablate --task antonym:instruction --out atlas
      headatlas ablate --heads 0.3,12.7 --out atlas
    """
    chosen = parse_heads(heads)
    subject = files.load(task, model.download)
    with model.atlas(out) as atlas:
        method = ha.Ablation(heads=chosen, examples=examples)
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
