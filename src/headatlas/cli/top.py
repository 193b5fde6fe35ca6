"""headatlas top"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Annotated, Any

import psutil
import typer

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.screen import duration, name_files, say, shortened, stdout, table

QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


def top(
    folder: given.Folder,
    *,
    task: Annotated[
        str | None, typer.Option("--task", "-t", help="Only maps of this task.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="Only maps of this method: ablation, gating, …")
    ] = None,
    map_name: given.MapName = None,
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="Number of heads.")] = 10,
) -> None:
    """Print the most important heads of the maps in a folder.

    Every head comes with its 95 % interval, where available, and with a star if it is significant
    after correction for the number of heads (p ≤ 0.05). In maps of functions a question mark stands
    behind heads that lie before the elbow but are not significant.

    \b
    Examples:
      headatlas top atlas
      headatlas top atlas --task math --method gating --n 20
    """
    with given.stored_atlas(folder) as atlas:
        maps = atlas.maps(task=task, method=method)
        if map_name is not None:
            name = atlas.store.find(map_name)
            if name not in maps:
                raise ha.HeadAtlasError(f"{name} is not of that task and method.")
            maps = {name: maps[name]}
    for head_map in maps.values():
        show_top(head_map, n)


def finish(atlas: ha.Atlas, maps: Sequence[ha.Map], *, threshold: float = 0.5) -> None:
    """End a method's command: time taken, what was found, the ten most important heads, files."""
    for record in atlas.records:
        units = record["units"]
        reused = f", {len(units['skipped'])} reused" if units["skipped"] else ""
        count = len(units["computed"])
        say(
            f"{record['method']['name']} on {record['task']['name']}: {count} "
            f"unit{'' if count == 1 else 's'} computed{reused} ({duration(record['seconds'])})"
        )
    say(f"{duration(time.time() - psutil.Process().create_time())} in total")
    for head_map in maps:
        facts = head_map.provenance
        if "task_accuracy" in facts:
            say(
                f"{facts['task']}: the untouched model gets {facts['task_accuracy']:.0%} right "
                f"(chance {facts['task_chance']:.0%})"
            )
    for line in atlas.summary(*maps, threshold=threshold):
        say(line)
    for head_map in maps:
        show_top(head_map, warn=False)  # the summary has warned
    name_files(atlas.files)


def show_top(head_map: ha.Map, n: int = 10, *, warn: bool = True) -> None:
    """Print the most important heads of a map."""
    rows, ranking, facts = head_map.top(n), head_map.ranking, head_map.provenance
    say("")
    mark = f" (UNFINISHED: {facts['unfinished']})" if "unfinished" in facts else ""
    say(
        f"Most important heads of {facts.get('task')} by {facts.get('method')}{mark}: "
        f"{ranking.score}"
    )
    if warn:
        for caution in head_map.cautions:
            say(f"CAUTION: {caution}")
    if "function" in rows:
        _show_functions(rows)
        if "before_elbow" in rows and (rows["before_elbow"] & ~rows["significant"]).any():
            say("? before the elbow, but not significant")
    else:
        _show_heads(rows)
    if rows["significant"].any():
        bare = "" if "function" in rows else " (intervals are not corrected)"
        say(f"* p ≤ 0.05, corrected for {ranking.correction}{bare}")
    elif rows["p"].isna().all() and not mark:
        say(f"Not tested: {ranking.advice}.")
    elif not mark:
        say(f"No head passes the correction for {ranking.correction}: {ranking.advice}.")


def _show_heads(rows: Any) -> None:
    columns = ["", "head", "score", "95 %", "p"]
    further = [name for name in ("role_always", "role_any", "promoted") if name in rows]
    names = [name.replace("_", ", ") for name in further]
    shown = table(*columns, *names, left=[name for name in names if name == "promoted"])
    for row in rows.to_dict("records"):
        interval = "–" if row["low"] != row["low"] else f"{row['low']:.3f} … {row['high']:.3f}"
        p = "–" if row["p"] != row["p"] else f"{row['p']:.3f}"
        p = "<0.001" if row["p"] < 0.001 else p
        star = "*" if row["significant"] else " "
        shown.add_row(
            f"{row['rank']}.",
            f"{row['layer']}.{row['head']}",
            f"{row['score']:.3f}",
            interval,
            f"{p} {star}",
            *(unbroken(row[name]) if name == "promoted" else row[name] for name in further),
        )
    stdout.print(shown)


def unbroken(tokens: str) -> str:
    """Tokens in quotes, whose spaces are shown: lines break only between tokens."""
    return QUOTED.sub(lambda match: match[0].replace(" ", "␣"), tokens)


def _show_functions(rows: Any) -> None:
    columns = ("function", "heads, the most important first")
    shown = table(*columns, left=columns)
    for name, own in rows.groupby("function", sort=False):
        heads = (f"{row['layer']}.{row['head']}{_mark(row)}" for row in own.to_dict("records"))
        shown.add_row(shortened(str(name)), ", ".join(heads))
    stdout.print(shown)


def _mark(row: dict[str, Any]) -> str:
    """A star for a significant head, a question mark for another one before the elbow."""
    if row["significant"]:
        return "*"
    return "?" if row.get("before_elbow") else ""
