"""What checks found, as tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

import headatlas as ha
from headatlas.cli.screen import say, shortened, stdout, table

VERDICTS = {True: "more harm", False: "less harm", None: "unclear"}


def show_result(result: ha.Result) -> None:
    """Print what a check found."""
    if isinstance(result, ha.GatingCheck):
        show_held_out(result.about.task, result.held_out, result.about.percent)
    elif isinstance(result, ha.FunctionCheck):
        show_masking(result)
    for line in result.summary():
        say(line)


def show_held_out(task: str, rows: Sequence[Any], level: str = "95 %") -> None:
    """Print the losses under all gates."""
    plain = rows[0]
    say(
        f"{task}: {plain.questions} test questions per seed after {plain.prefixes} few-shot "
        "prompts, loss in nats per token; better: seeds with a lower loss than the untouched model"
    )
    columns = ("gates", "heads on", "loss", "accuracy", "change", level, "better")
    shown = table(*columns, left=("gates",))
    for row in rows:
        untouched = row is plain
        shown.add_row(
            row.gates,
            f"{row.heads_on:.0%}",
            f"{row.loss:.3f}",
            f"{row.accuracy:.0%}",
            "" if untouched else f"{row.change:+.3f}",
            "" if untouched else f"{row.low:+.3f} … {row.high:+.3f}",
            "" if untouched else f"{row.better} of {row.seeds}",
        )
    stdout.print(shown)


def show_masking(result: ha.FunctionCheck) -> None:
    """Print what masking a function's heads does to the function, against random heads."""
    level = result.about.percent
    say(
        f"{result.about.task}, {result.questions} test questions: change of log P (nats per token) "
        "when the heads before a function's elbow are masked, the mean and the range of "
        f"{result.draws} draws of random heads, matched by layer and output size; right: exact "
        "answers and their change"
    )
    columns = ("function", "heads", "own", "random", f"difference, {level}", "right", "vs. random")
    shown = table(*columns, left=("function", "vs. random"))
    for row in result.masking:
        shown.add_row(
            shortened(row.function),
            f"{row.heads}",
            f"{row.change.mean:+.2f}",
            f"{row.control:+.2f} ({min(row.controls):+.2f} … {max(row.controls):+.2f})",
            f"{row.difference.low:+.2f} … {row.difference.high:+.2f}",
            f"{row.accuracy:.0%} {row.accuracy_change.mean:+.0%}",
            VERDICTS[row.holds],
        )
    stdout.print(shown)


def show_leaderboard(board: ha.Leaderboard) -> None:
    """Print methods and tasks with their scores and costs."""
    say(
        f"{board.model}, {board.questions} test questions, removed heads replaced by "
        f"{board.replacement}: areas of faithfulness (CPR: high is good; CMD: low), and the "
        "reliability and cost of every map; *: better than heads shuffled within layers"
    )
    levels = {row.percent for row in board.rows}
    interval = min(levels) if len(levels) == 1 else "interval"
    columns = ("task", "method", "CPR", interval, "CMD", "reliability", "passes", "seconds")
    shown = table(*columns, left=("task", "method"))
    for row in board.rows:
        cpr = row.scores["cpr"]
        star = {score: "*" if row.beats_chance[score] else "" for score in ("cpr", "cmd")}
        level = "" if len(levels) == 1 else f" ({row.percent})"
        shown.add_row(
            row.task,
            row.method,
            "" if isnan(cpr.mean) else f"{cpr.mean:.2f}{star['cpr']}",
            "" if isnan(cpr.low) else f"{cpr.low:.2f} … {cpr.high:.2f}{level}",
            _known(row.scores["cmd"].mean, ".2f") + star["cmd"],
            _known(row.reliability, ".2f"),
            _known(row.forward_passes, ",.0f"),
            _known(row.seconds, ",.0f"),
        )
    stdout.print(shown)
    for line in board.summary():
        say(line)


def _known(value: float, form: str) -> str:
    return "" if isnan(value) else format(value, form)
