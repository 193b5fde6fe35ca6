"""docs/results/methods.md, from the stored leaderboards."""

from __future__ import annotations

from math import isnan

import numpy as np

import headatlas as ha
from headatlas.checks.results import Standing
from markdown import table, text
from stored import RESULTS, record

MODELS = {
    "methods": "SmolLM2-135M-Instruct",
    "methods-gemma": "Gemma-3-270M",
    "methods-qwen": "Qwen2.5-Coder-1.5B-Instruct",
}
"""The runs of the page, the embedded model's first."""

EXACT, ESTIMATED = "ablation (mean)", "attribution"
"""The maps whose cost is compared: every removal measured, and all estimated at once."""

KEPT = ("maps/*.nc", "checks/*.faithfulness.json", "checks/*.specificity.json")
KEPT += ("checks/*.mediation.json", "checks/leaderboard.json")
"""What is stored of a run."""


def boards() -> dict[str, ha.Leaderboard]:
    """The leaderboards that there are, by run."""
    return {
        run: ha.Leaderboard.from_dict(record(f"{run}/checks/leaderboard.json"))
        for run in MODELS
        if (RESULTS / run / "checks" / "leaderboard.json").exists()
    }


def draw_figures() -> None:
    """The figures of the page."""
    for run, board in boards().items():
        ha.save_figure(board.plot(), RESULTS / run / "figures" / "leaderboard.png")
        for number, result in enumerate(_results(run, "specificity", ha.TaskSpecificity)):
            path = RESULTS / run / "figures" / f"specificity-{number}.png"
            ha.save_figure(result.plot(), path)


def page() -> str:
    """docs/results/methods.md"""
    found = boards()
    parts = [
        "# Which map to believe",
        text(
            "Maps of all methods, judged by one yardstick on test questions that none of them was "
            "made from: only the first heads of a map are kept, or they are removed first, and for "
            "comparison orders that are shuffled within layers. Removed heads are replaced by "
            "their mean output. Written by `tools/results.py` from the maps and checks stored "
            "beside this page; `make results` computes them again."
        ),
        "## In a few sentences",
        "\n".join(text(line, f"{i}. ") for i, line in enumerate(sentences(found), 1)),
        "## The scores",
        text(
            "*CPR*: area under the faithfulness of kept heads (0: the model without any head, 1: "
            "the whole model), *CMD*: area between it and 1, both by the formulas of the MIB "
            "benchmark ([arXiv 2504.13151](https://arxiv.org/abs/2504.13151)), over heads alone, "
            "so that they cannot be compared with its leaderboard. *Circuit*: mean faithfulness of "
            "up to 20 % of the heads. *Removable*: mean distance from the whole model when up to "
            "half of the heads are removed, the least important first (low is good). *Gain*: "
            "change of the measure, in nats, when the least important 2 % are removed. In brackets "
            "95 % intervals over questions and few-shot prompts. A star: better than shuffled "
            "orders. *Reliability*: rank correlation to expect of two such maps. *Passes*: forward "
            "passes of one example, those with gradient counted twice; *seconds*: on two shared CPU "
            "cores, a rough figure (empty: not recorded)."
        ),
    ]
    for run, board in found.items():
        parts += _model_section(run, board)
    return "\n\n".join(parts) + "\n"


def sentences(found: dict[str, ha.Leaderboard]) -> list[str]:
    """What the leaderboards say: the three uses on the first model, the cost, and the models."""
    first = next(iter(found.values()))
    return [
        *(f"On {next(iter(MODELS.values()))}: {line}" for line in first.summary()),
        _cost_sentence(first),
        _models_sentence(found),
    ]


def _cost_sentence(board: ha.Leaderboard) -> str:
    rows = {(row.task, row.method): row for row in board.rows}
    pairs = [
        (rows[task, EXACT], rows[task, ESTIMATED])
        for task in board.tasks
        if (task, EXACT) in rows and (task, ESTIMATED) in rows
    ]
    share = float(np.mean([two.forward_passes / one.forward_passes for one, two in pairs]))
    lost = [one.scores["cpr"].mean - two.scores["cpr"].mean for one, two in pairs]
    return (
        f"{ESTIMATED.capitalize()} takes {share:.1%} of the forward passes of {EXACT}, and its CPR "
        f"is lower by {np.mean(lost):.2f} on average over {len(pairs)} tasks ({min(lost):+.2f} … "
        f"{max(lost):+.2f})."
    )


def _models_sentence(found: dict[str, ha.Leaderboard]) -> str:
    words = []
    for run, board in found.items():
        ranked = board.best("cpr")
        if ranked:
            method, serving, mean = ranked[0]
            words.append(
                f"{method} on {MODELS[run]} (mean {mean:.2f}, best or not shown to be worse on "
                f"{serving} of {len(board.tasks)} tasks)"
            )
    return f"Models differ: by CPR the first method is {'; '.join(words)}."


def _model_section(run: str, board: ha.Leaderboard) -> list[str]:
    columns = ("task", "method", "CPR", "CMD", "circuit", "removable", "gain")
    rows = [
        [row.task, row.method, *(_score(row, name) for name in board_scores()), *_cost(row)]
        for row in board.rows
    ]
    parts = [
        f"## {MODELS[run]}",
        f"![Leaderboard of {MODELS[run]}]({run}/figures/leaderboard.png)",
        text(
            f"{len(board.tasks)} tasks, {board.questions} test questions each. "
            + " ".join(f"{line.rstrip('.')}." for line in board.summary())
        ),
        table((*columns, "reliability", "passes", "seconds"), rows),
    ]
    for number, result in enumerate(_results(run, "specificity", ha.TaskSpecificity)):
        parts += [
            f"![Specificity]({run}/figures/specificity-{number}.png)",
            text(" ".join(f"{line}." for line in result.summary())),
        ]
    mediations = _results(run, "mediation", ha.Mediation)
    if mediations:
        parts.append("\n".join(text(" ".join(result.summary()), "- ") for result in mediations))
    return parts


def board_scores() -> tuple[str, ...]:
    """The scores of the table, in its order."""
    return ("cpr", "cmd", "circuit", "removable", "gain")


def _score(row: Standing, name: str) -> str:
    value = row.scores[name]
    star = "*" if row.beats_chance[name] else ""
    mean = f"**{value.mean:.2f}**" if row.serves(name) else f"{value.mean:.2f}"
    return f"{mean}{star} ({value.low:.2f} … {value.high:.2f})"


def _cost(row: Standing) -> list[str]:
    numbers = ((row.reliability, ".2f"), (row.forward_passes, ",.0f"), (row.seconds, ",.0f"))
    return ["" if isnan(value) else format(value, form) for value, form in numbers]


def _results(run: str, kind: str, result: type[ha.Result]) -> list[ha.Result]:
    paths = sorted((RESULTS / run / "checks").glob(f"*.{kind}.json"))
    return [result.from_dict(record(str(path.relative_to(RESULTS)))) for path in paths]
