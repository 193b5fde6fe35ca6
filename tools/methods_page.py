"""docs/results/methods.md, from the stored leaderboards."""

from __future__ import annotations

from math import isnan
from pathlib import Path
from typing import Any

import headatlas as ha
from agreement_section import agreement_section
from attending_section import attending_section
from headatlas.checks.results import Standing
from headatlas.maps import load_map
from map_settings import COLUMNS, settings_rows
from markdown import table, text
from mediation_section import mediation_section, most_seeds
from methods_sentences import cost_sentence, models_sentence
from stored import RESULTS, record
from sweep_section import sweep_section

MODELS = {
    "methods": "SmolLM2-135M-Instruct",
    "methods-gemma": "Gemma-3-270M",
    "methods-qwen": "Qwen2.5-Coder-1.5B-Instruct",
}
"""The runs of the page, the embedded model's first."""

NOT_JUDGED = (
    "There is no leaderboard here yet: of the maps below, none or only some have been judged by "
    "the yardstick. `make results` computes what is missing."
)

KEPT = ("maps/*.nc", "checks/*.faithfulness.json", "checks/*.specificity.json")
KEPT += ("checks/*.mediation.json", "checks/*.comparison.json", "checks/leaderboard.json")
"""What is stored of a run."""

MORE_SEEDS = "default"
"""The run of the embedded model whose gating maps have most seeds."""


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
    for run in MODELS:
        for result in most_seeds(_mediations(run)):
            ha.save_figure(result.plot(), _mediation_figure(run, result))


def page() -> str:
    """docs/results/methods.md"""
    found = boards()
    parts = ["# Which map to believe"]
    parts += _judged(found) if found else [text(NOT_JUDGED)]
    parts += _made()
    for run, board in found.items():
        parts += _model_section(run, board)
    parts += attending_section({MODELS[run]: maps for run, maps in all_maps().items()})
    parts += mediation_section({name: _mediations(run) for run, name in MODELS.items()})
    parts += _mediation_figures()
    parts += agreement_section(
        {name: _results(run, "comparison", ha.Comparison) for run, name in MODELS.items()}
    )
    parts += sweep_section()
    return "\n\n".join(parts) + "\n"


def _judged(found: dict[str, ha.Leaderboard]) -> list[str]:
    """What the leaderboards say, and what their scores are."""
    return [
        text(
            "Maps of all methods, judged by one yardstick on test questions that none of them was "
            "made from: only the first heads of a map are kept, or they are removed first, and for "
            "comparison orders that are shuffled within layers. Removed heads are replaced by "
            "their mean output. Written by `tools/results.py` from the maps and checks stored "
            "beside this page; `make results` computes such maps and checks."
        ),
        "## In five sentences",
        "\n".join(text(line, f"{i}. ") for i, line in enumerate(sentences(found), 1)),
        "## The scores",
        text(
            "*CPR*: area under the faithfulness of kept heads (0: the model without any head, 1: "
            "the whole model), *CMD*: area between it and 1, both by the formulas of the MIB "
            "benchmark ([arXiv 2504.13151](https://arxiv.org/abs/2504.13151)), over heads alone, "
            "so that they cannot be compared with its leaderboard (nor is log P of the target its "
            "measure; CMD, which noise biases upwards, is of the same signed order). *Circuit*: "
            "mean faithfulness of up to 20 % of the heads. *Removable*: mean loss of it when up to "
            "half of the heads are removed, the least important first (low is good, below 0 the "
            "model is better without them). *Gain*: change of log P, in nats per token, when the "
            "least important 2 % are removed. In brackets intervals over questions and few-shot "
            "prompts (95 %; 99 % where a map was looked at a second time). A star: better than "
            "shuffled orders, corrected for the maps of the task; bold: also finds what is wanted, "
            "and no map of the task is shown to be better. *Reliability*: rank correlation to "
            "expect of two such maps. *Passes*: forward passes of one example, those with gradient "
            "counted twice; *seconds*: on one CPU core beside other work, a rough figure. Empty: "
            "not known."
        ),
        text(
            "The sentences rest on means over all tasks of a model, in which a task counts by how "
            "much heads do for it (equally for the gain, which is in nats), with intervals over "
            "questions and shuffled orders, corrected for the number of methods, or of pairs of "
            "them (Holm); the tasks are taken as they are. Patching is measured at the last "
            "position, with the question's own clean output, and judged like all others."
        ),
        text(
            "These rules were fixed before any result was looked at but those of five maps of ioi "
            "on SmolLM2-135M-Instruct, for which rules had counted tasks and taken any change for "
            "a loss, and those of Gemma-3-270M, for which all tasks had counted equally: there "
            "they are a second look. Two mistakes were put right after results of both had been "
            "seen, which changed whether ablation (mean) is trusted to find what can be removed: "
            "where shuffled orders of a map differ more than those of others, their variance was "
            "taken for better known than four orders tell, and how much a task counts was taken "
            "as known."
        ),
    ]


def _made() -> list[str]:
    """How the maps of every model were made."""
    parts = []
    for run, maps in all_maps().items():
        parts += [f"{MODELS[run]}:", table(COLUMNS, settings_rows(maps))]
    if not parts:
        return []
    return [
        "## How the maps were made",
        text("All maps that are stored, each seed with examples of its own."),
        *parts,
    ]


def all_maps() -> dict[str, list[ha.Map]]:
    """The stored maps of every run that has any."""
    found = {}
    for run in MODELS:
        paths = sorted((RESULTS / run / "maps").glob("[!.]*.nc"))
        if paths:
            found[run] = [load_map(path) for path in paths]
    return found


def sentences(found: dict[str, ha.Leaderboard]) -> list[str]:
    """What the leaderboards say: the three uses on the first model, the cost, and the models."""
    run, first = next(iter(found.items()))
    return [
        *(f"On {MODELS[run]}: {line}" for line in first.uses()),
        f"On {MODELS[run]}: {cost_sentence(first)}",
        models_sentence(
            {MODELS[one]: _results(one, "faithfulness", ha.Faithfulness) for one in found}
        ),
    ]


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
            f"{_questions(run, board)} "
            + " ".join(f"{line.rstrip('.')}." for line in board.summary())
        ),
        table((*columns, "reliability", "passes", "seconds"), rows),
    ]
    for number, result in enumerate(_results(run, "specificity", ha.TaskSpecificity)):
        parts += [
            f"![Specificity]({run}/figures/specificity-{number}.png)",
            text(" ".join(f"{line.rstrip('.')}." for line in result.summary())),
        ]
    return parts


def _mediations(run: str) -> list[ha.Mediation]:
    """The stored results of a model, those of further seeds among them."""
    more = _results(MORE_SEEDS, "mediation", ha.Mediation) if run == next(iter(MODELS)) else []
    return _results(run, "mediation", ha.Mediation) + more


def _mediation_figure(run: str, result: ha.Mediation) -> Path:
    return RESULTS / run / "figures" / f"mediation-{result.task}.png"


def _mediation_figures() -> list[str]:
    paths = [
        _mediation_figure(run, result) for run in MODELS for result in most_seeds(_mediations(run))
    ]
    return [f"![Mediation against gating]({path.relative_to(RESULTS)})" for path in paths]


def _questions(run: str, board: ha.Leaderboard) -> str:
    """How many test questions maps are judged on, and after how many prompts."""
    counts = {
        (len(set(result.prefixes)), result.questions)
        for result in _results(run, "faithfulness", ha.Faithfulness)
    }
    prompts = sorted({prompts for prompts, questions in counts if prompts < questions})
    words = f"{len(board.tasks)} tasks, up to {board.questions} test questions each"
    if not prompts:
        return f"{words}."
    number = str(prompts[0]) if len(prompts) == 1 else f"{prompts[0]} to {prompts[-1]}"
    return f"{words}; those of tasks with demonstrations follow {number} few-shot prompts."


def board_scores() -> tuple[str, ...]:
    """The scores of the table, in its order."""
    return ("cpr", "cmd", "circuit", "removable", "gain")


def _score(row: Standing, name: str) -> str:
    value = row.scores[name]
    if isnan(value.mean):
        return ""
    star = "*" if row.beats_chance[name] else ""
    mean = f"**{value.mean:.2f}**" if row.serves(name) else f"{value.mean:.2f}"
    return f"{mean}{star} ({value.low:.2f} … {value.high:.2f})"


def _cost(row: Standing) -> list[str]:
    numbers = ((row.reliability, ".2f"), (row.forward_passes, ",.0f"), (row.seconds, ",.0f"))
    return ["" if isnan(value) else format(value, form) for value, form in numbers]


def _results(run: str, kind: str, result: type[Any]) -> list[Any]:
    paths = sorted((RESULTS / run / "checks").glob(f"*.{kind}.json"))
    return [result.from_dict(record(str(path.relative_to(RESULTS)))) for path in paths]
