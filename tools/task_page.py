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
from headatlas.tasks.text_baseline import VIEWS
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
            views = [asdict(words_alone(task, view)) for view in VIEWS]
            figures[task.name]["text_alone"] = views
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
        baseline = stored_baseline(figures[task.name])
        sizes = " | ".join(str(len(task.splits[split])) for split in SPLITS)
        verdict = baseline.verdict if baseline.can_do else f"**{baseline.verdict}**"
        rows.append(
            f"| [{task.name}](#{task.name}) | {sizes} | {baseline.accuracy:.0%} "
            f"({baseline.accuracy_low:.0%}–{baseline.accuracy_high:.0%}) | {baseline.chance:.1%} | "
            f"{baseline.logprob:.2f} | {baseline.shuffled_logprob:.2f} | "
            f"{baseline.gain_low:+.2f} … {baseline.gain_high:+.2f} | {verdict} |"
        )
    words = fill(WORDS.format(**_words(figures["cognition"])), 100)
    parts += ["\n".join([HEADING, *rows]), "## What text alone gives away", words]
    parts += [_section(task) for task in tasks()]
    return "\n\n".join(parts) + "\n"


def stored_baseline(figure: dict[str, Any]) -> Baseline:
    """The baseline of a task, from its stored numbers."""
    return Baseline(**{key: figure[key] for key in Baseline.__dataclass_fields__})


def _words(figure: dict[str, Any]) -> dict[str, str]:
    """The accuracy of every view of the text, and which of `VIEWS` is the strongest."""
    views = {one["view"]: WordsAlone(**one) for one in figure["text_alone"]}
    strongest = max((views[name] for name in VIEWS), key=lambda one: one.accuracy)
    others = [views[name] for name in VIEWS if name != strongest.view]
    return {
        "strongest": f"{_accuracy(strongest)} ({strongest.view})",
        "others": ", ".join(f"{_accuracy(one)} ({one.view})" for one in others),
        "chance": f"{strongest.chance:.1%}",
        "steps": f"{strongest.examples:,}",
        "functions": ", ".join(FUNCTIONS),
    }


def _accuracy(one: WordsAlone) -> str:
    return f"{one.accuracy:.0%} [{one.low:.0%}–{one.high:.0%}]"


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
    questions = [example for examples in task.splits.values() for example in examples]
    if copies := sum(example.metadata.get("copies") is True for example in questions):
        lines += ["", f"In {copies} of {len(questions)} questions the answer copies a word of the"]
        lines[-1] += " question, at least its first four letters (metadata `copies`)."
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
one question stay together. All figures are from `test`, with new demonstrations for every four
questions.

*Accuracy*: how often the target is the most likely of the choices, each scored as a whole, or,
without choices, how often the model generates the target. *Chance*: one over the number of choices,
or the share of the most common target of the task. *log P*: mean over the tokens of a target, then
over examples, in nats; *shuffled*: the same for the target of another question (in `cognition`, one
of the same function). Intervals are 95 % (Wilson for shares, Student's t for means), clustered by
question or by demonstrations, whichever is wider. `math` and `syntax` are judged by log P against
shuffled targets, since their answers are sentences; the others by accuracy, and so is `cognition`,
where one answer fits more than a tenth of the steps and can be guessed. The model *can do* a task
if the lower bound of its accuracy lies at least 0.1 above chance, or that of its gain at least 0.25
nats per token above 0. It is *at chance level* if the upper bound lies at most 0.05 above chance
(0.05 nats above 0). The map of any task that the model is not shown to do carries a warning. A gain
over another question's answer can come from words that are copied from the prompt; it does not show
that a question was solved."""

COLUMNS = (
    "task", *SPLITS, "accuracy", "chance", "log P", "shuffled", "gain", "verdict"
)  # fmt: skip
HEADING = f"| {' | '.join(COLUMNS)} |\n|---|{'--:|' * (len(COLUMNS) - 2)}---|"

WORDS = """The {steps} steps of `cognition` are labelled with one of eight functions
({functions}), with the same number of steps each. Every step is asked, with the same answer, for
four functions: only the text of the question decides which one it needs. Classifiers that see no
model (logistic regression on word and letter n-grams; ten divisions by scene, 70 % for training; in
square brackets the mean ± 1.96 standard deviations over the divisions) predict the function of
held-out steps; the strongest of them reaches **{strongest}**, the other views {others}; chance is
{chance}, and other classifiers may find more. The matched sentence is the one of the question that
shares most words with the step and its answer. The wording of the sentence that decides is typical
of its function, but sentences about other events, worded like those of other functions, stand
beside it. A probe of a model's heads should be compared with these figures, not with chance."""
