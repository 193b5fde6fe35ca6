"""HTML representations of tasks and examples, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headatlas.tasks.example import Example
    from headatlas.tasks.task import Task

PROMPTS_SHOWN = 2
PROMPT_STYLE = "white-space: pre-wrap; text-align: left"


def example_html(example: Example) -> str:
    """The prompt with the target marked, and a table of what else is known."""
    facts = {
        "choices": ", ".join(map(repr, example.choices)),
        "function": example.function or "",
        "corrupted prompt": example.corrupted or "",
        "corrupted target": repr(example.corrupted_target) if example.corrupted_target else "",
        "group": example.group,
        **{str(name): str(value) for name, value in example.metadata.items()},
    }
    rows = [(name, value) for name, value in facts.items() if value]
    return _prompt(example) + (_table(rows) if rows else "")


def task_html(task: Task) -> str:
    """Name, description, sizes of the splits, and the first prompts."""
    sizes = [(split, f"{len(examples):,}") for split, examples in task.splits.items()]
    split = "test" if task.splits.get("test") else next(s for s, x in task.splits.items() if x)
    if task.form.chat and task.tokenizer is None:  # the chat template is still missing
        prompts: Iterable[Example] = task.split(split)[:PROMPTS_SHOWN]
    else:
        prompts = task.prompts(split, limit=PROMPTS_SHOWN)
    title = f"<b>{escape(task.name)}</b>: {escape(task.summary)}; form {escape(str(task.form))}"
    return f"<div>{title}{_table(sizes)}{''.join(map(_prompt, prompts))}</div>"


def _prompt(example: Example) -> str:
    text = f"{escape(example.prompt)}<mark>{escape(example.target)}</mark>"
    return f'<pre style="{PROMPT_STYLE}">{text}</pre>'


def _table(rows: Iterable[tuple[str, str]]) -> str:
    cells = "".join(
        f'<tr><th style="text-align: left">{escape(name)}</th>'
        f'<td style="{PROMPT_STYLE}">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{cells}</table>"
