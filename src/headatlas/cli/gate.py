"""headatlas gate"""

from __future__ import annotations

import re
from typing import Annotated

import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.effect_options import map_tasks
from headatlas.cli.gating_options import GatingOptions
from headatlas.cli.top import finish

SEEDS = 10
"""Seeds by default."""


def gate(
    *,
    out: given.Out,
    task: given.WordTasks = None,
    seeds: Annotated[
        int | None,
        typer.Option(min=1, help="Number of seeds (default: 10)."),
    ] = None,
    until_stable: Annotated[
        float | None,
        typer.Option(
            help="Add seeds until the reliabilities of F and N, at the lower ends of their 95 % "
            "intervals, reach this, such as 0.9; at most --seeds (default: 40)."
        ),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(help="Time per task: start no seed that would end later (90s, 10m, 1h30m)."),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="The score from which a head has a role, in what is printed.")
    ] = 0.5,
    baseline: given.Baseline = True,
    gating: GatingOptions,
    model: given.ModelOptions,
    files: given.FileOptions,
) -> None:
    """Learn a gate on every head: which ones does a task need?

    Three fits per seed (free, pushed on, pushed off) give every head its facilitation F, its
    interference N and its irrelevance R. Writes a map per task, a ranked table of all heads, and
    the figure of what holds always (in every seed) and in any, with how far the map reproduces
    between seeds. Every finished seed is kept: running the same command again continues with the
    next one.

    \b
    Examples:
      headatlas gate --task math --task syntax --out atlas
      headatlas gate --model Qwen/Qwen3-0.6B --task my.jsonl --seeds 3 --out atlas
      headatlas gate --task antonym --until-stable 0.9 --time 1h --out atlas
      headatlas gate --task antonym --schedule paper --out atlas
    """
    if not 0 < threshold < 1:
        raise ha.HeadAtlasError(f"--threshold must be between 0 and 1, not {threshold}.")
    most = seeds or (SEEDS if until_stable is None else None)
    limits = {"until_stable": until_stable, "seconds": None if time is None else parse_time(time)}
    tasks = files.load_all(task or [given.WORD_TASK], model.download)
    with model.atlas(out) as atlas:
        maps = map_tasks(atlas, gating.method(), tasks, most, baseline=baseline, **limits)
        atlas.save_figures(*maps)
    finish(atlas, maps, threshold=threshold)
    if len(maps) < len(tasks):
        raise typer.Exit(2)


def parse_time(text: str) -> float:
    """A time as the user writes it, in seconds.

    >>> parse_time("1h30m"), parse_time("90s"), parse_time("10m")
    (5400.0, 90.0, 600.0)
    """
    match = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text.strip())
    hours, minutes, seconds = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    if not (total := 3600.0 * hours + 60 * minutes + seconds):
        raise ha.HeadAtlasError(f"'{text}' is not a time: write 90s, 10m or 1h30m.")
    return total
