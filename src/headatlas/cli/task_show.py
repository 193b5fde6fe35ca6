"""headatlas task show"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

import headatlas as ha
from headatlas.cli import options as given
from headatlas.cli.screen import note, say, stdout, waiting


def show(
    *,
    task: Annotated[str, typer.Argument(metavar="TASK", help="Task, as for --task.")],
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="Number of prompts.")] = 5,
    split: Annotated[str, typer.Option(help="demonstrations, train, select or test.")] = "test",
    seed: Annotated[int, typer.Option(help="Draws the questions and the demonstrations.")] = 0,
    model: given.ModelName = given.EMBEDDED,
    download: given.Download = False,
    files: given.FileOptions,
) -> None:
    """Print prompts as the model gets them, the target highlighted, with token counts.

    \b
    Examples:
      headatlas task show antonym:instruction --n 2
      headatlas task show my.csv --columns prompt=question,target=answer
    """
    chosen = files.load(task, download)
    chosen.split(split)
    with waiting(f"loading the tokenizer of {model}"):
        shown = ha.preview(chosen, model, n=n, split=split, seed=seed, download=download)
    for remark in shown.task.remarks:
        note(remark)
    sizes = ", ".join(f"{len(examples)} {name}" for name, examples in shown.task.splits.items())
    say(f"{shown.task.name}: {shown.task.description}")
    say(f"{sizes}; form {shown.task.form}; hash {shown.task.hash[:16]}")
    for prompt in shown.prompts:
        _print(prompt)
        if prompt.too_long:
            note(f"longer than the {shown.context:,} tokens of {model}: methods leave it out")


def _print(prompt: ha.PromptPreview) -> None:
    example = prompt.example
    parts = [example.function] if example.function else []
    if prompt.prompt_tokens is not None:
        parts.append(f"{prompt.prompt_tokens} + {prompt.target_tokens} tokens")
    stdout.rule(Text(" · ".join(parts)), align="left", style="dim")
    text = Text(example.prompt)
    text.append(example.target, style="bold black on green" if stdout.is_terminal else "")
    stdout.print(text, soft_wrap=True)
    facts = {
        "target": repr(example.target),
        "choices": ", ".join(map(repr, example.choices)),
        "corrupted": repr(example.corrupted) if example.corrupted else "",
        "corrupted target": repr(example.corrupted_target) if example.corrupted_target else "",
    }
    for name, value in facts.items():
        if value:
            stdout.print(Text(f"  {name:16} {value}", style="dim"), soft_wrap=True, highlight=False)
