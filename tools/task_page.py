"""docs/tasks.md: every built-in task, and what the embedded model makes of it.

The figures are stored in docs/tasks.json. `make docs` measures every task whose content has
changed, then writes the page from the figures.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from textwrap import fill
from typing import Any

from headatlas.methods.baseline import Baseline, measure_baseline
from headatlas.models.load.embedded import EMBEDDED
from headatlas.models.load.loader import load_model, load_tokenizer
from headatlas.tasks import BUILT_IN, FUNCTIONS, SPLITS, Task, load_task
from headatlas.tasks.words_alone import WordsAlone, words_alone

FIGURES = Path(__file__).resolve().parents[1] / "docs" / "tasks.json"


def tasks() -> list[Task]:
    """The built-in tasks as the embedded model gets them."""
    tokenizer, _ = load_tokenizer(EMBEDDED)
    return [load_task(name).for_tokenizer(tokenizer) for name in BUILT_IN]


def measure_missing() -> None:
    """Measure every task whose figures are missing or of other content."""
    figures = read_figures()
    model = None
    for task in tasks():
        if figures.get(task.name, {}).get("task_hash") == task.hash:
            continue
        print(f"measuring {task.name}")
        model = model or load_model(EMBEDDED)
        figures[task.name] = asdict(measure_baseline(model, task))
        if any(example.function for example in task.split("test")):
            figures[task.name]["words_alone"] = asdict(words_alone(task))
            figures[task.name]["last_words_alone"] = asdict(words_alone(task, last_only=True))
        ordered = {name: figures[name] for name in BUILT_IN if name in figures}
        FIGURES.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def read_figures() -> dict[str, dict[str, Any]]:
    if not FIGURES.exists():
        return {}
    content: dict[str, dict[str, Any]] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return content


def page() -> str:
    """The page, from the tasks and the figures."""
    figures = read_figures()
    parts = [INTRODUCTION]
    rows = []
    for task in tasks():
        baseline = _baseline(figures[task.name])
        sizes = " | ".join(str(len(task.splits[split])) for split in SPLITS)
        verdict = baseline.verdict if baseline.above_chance else f"**{baseline.verdict}**"
        rows.append(
            f"| [{task.name}](#{task.name}) | {sizes} | {baseline.accuracy:.0%} "
            f"({baseline.accuracy_low:.0%}–{baseline.accuracy_high:.0%}) | {baseline.chance:.1%} | "
            f"{baseline.logprob:.2f} | {baseline.shuffled_logprob:.2f} | "
            f"{baseline.gain_low:+.2f} … {baseline.gain_high:+.2f} | {verdict} |"
        )
    words = fill(WORDS.format(**_words(figures["cognition"])), 100)
    parts += ["\n".join([HEADING, *rows]), "## What the words alone give away", words]
    parts += [_section(task) for task in tasks()]
    return "\n\n".join(parts) + "\n"


def _baseline(figure: dict[str, Any]) -> Baseline:
    return Baseline(**{key: figure[key] for key in Baseline.__dataclass_fields__})


def _words(figure: dict[str, Any]) -> dict[str, str]:
    whole, last = WordsAlone(**figure["words_alone"]), WordsAlone(**figure["last_words_alone"])
    return {
        "whole": f"{whole.accuracy:.0%} ({whole.low:.0%}–{whole.high:.0%})",
        "last": f"{last.accuracy:.0%} ({last.low:.0%}–{last.high:.0%})",
        "chance": f"{whole.chance:.1%}",
        "steps": f"{whole.examples:,}",
        "functions": ", ".join(FUNCTIONS),
    }


def _section(task: Task) -> str:
    example = task.prompts(limit=1)[0]
    lines = [f"## {task.name}", ""]
    lines += [f"{task.description[0].upper()}{task.description[1:]}. Form `{task.form}`, version "]
    lines[-1] += f"{task.version}, hash `{task.hash[:16]}`."
    lines += ["", "```text", example.prompt + f"⟦{example.target}⟧", "```", ""]
    if example.choices:
        lines += ["Choices: " + ", ".join(f"`{choice}`" for choice in example.choices) + ".", ""]
    if example.corrupted:
        answer = f", whose answer is `{example.corrupted_target}`" * bool(example.corrupted_target)
        lines += [f"Corrupted prompt{answer}:", "", "```text", example.corrupted, "```"]
    for fact in ("kind", "level"):
        values = {
            str(example.metadata[fact])
            for example in task.split("test")
            if fact in example.metadata
        }
        if values:
            lines += ["", f"By {fact}: {', '.join(sorted(values))}."]
    return "\n".join(lines).rstrip()


INTRODUCTION = """# Built-in tasks

Written by `make docs` from the tasks themselves and from the figures of the embedded model
(SmolLM2-135M-Instruct, float32, on the CPU); `headatlas task baseline` measures any other model.
Word lists, templates and questions are the project's own. `headatlas task show TASK` prints more
prompts.

Questions are divided into four splits that have none in common: `demonstrations` are shown solved
in prompts, `train` is for fitting, `select` for choosing heads, `test` for scoring; rewordings of
one question stay together. All figures are from `test`, with new demonstrations for every 16
questions.

*Accuracy*: how often the target is the most likely of the choices, each scored as a whole, or,
without choices, how often the model generates the target. *Chance*: one over the number of choices,
or the share of the most common target of the task. *log P*: mean over the tokens of a target, then
over examples, in nats; *shuffled*: the same for the target of another question (in `cognition`, one
of the same function). Intervals are 95 % (Wilson for shares, Student's t for means) and clustered
by question. `math`, `syntax` and `cognition` are judged by log P against shuffled targets, since
their answers are sentences; the others by accuracy. A map of a task that is not shown to be above
chance carries a warning."""

COLUMNS = (
    "task", *SPLITS, "accuracy", "chance", "log P", "shuffled", "gain", "verdict"
)  # fmt: skip
HEADING = f"| {' | '.join(COLUMNS)} |\n|---|{'--:|' * (len(COLUMNS) - 2)}---|"

WORDS = """The {steps} steps of `cognition` are labelled with one of eight functions
({functions}), with the same number of steps each. A bag-of-words classifier (word counts, logistic
regression; ten divisions by question, 70 % for training; in brackets the mean ± 1.96 standard
deviations over the divisions) predicts the function of held-out steps with an accuracy of
**{whole}** from the whole prompt and **{last}** from the last step alone; chance is {chance}. A
probe of a model's heads should be compared with these figures, not with chance."""
