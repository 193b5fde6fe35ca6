"""headatlas task show"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from headatlas.cli import options as given
from headatlas.cli.screen import note, stdout, waiting

if TYPE_CHECKING:
    from headatlas.models.tokens import Tokens
    from headatlas.tasks import Example


def show(
    *,
    task: Annotated[str, typer.Argument(metavar="TASK", help="Task, as for --task.")],
    n: Annotated[int, typer.Option("--n", "-n", min=1, help="How many prompts.")] = 5,
    split: Annotated[str, typer.Option(help="examples, train, select or test.")] = "test",
    seed: Annotated[int, typer.Option(help="Draws the questions and the solved examples.")] = 0,
    model: given.ModelName = "smollm2-135m",
    download: given.Download = False,
    files: given.FileOptions,
) -> None:
    """Print prompts as the model gets them, the target highlighted, with token counts.

    \b
    Examples:
      headatlas task show antonym:instruction --n 2
      headatlas task show my.csv --columns prompt=question,target=answer
    """
    from headatlas.tasks import SPLITS

    chosen = files.load(task, download)
    chosen.split(split)
    with waiting(f"loading the tokenizer of {model}"):
        from headatlas.models.load.loader import load_tokenizer
        from headatlas.models.tokens import encode

        tokenizer, context = load_tokenizer(model, download=download)
    chosen = chosen.for_tokenizer(tokenizer)
    for remark in chosen.remarks:
        note(remark)
    sizes = ", ".join(f"{len(chosen.splits.get(name, ()))} {name}" for name in SPLITS)
    stdout.print(f"{chosen.name}: {chosen.description}", markup=False, highlight=False)
    stdout.print(f"{sizes}; form {chosen.form}; hash {chosen.hash[:16]}", highlight=False)
    for example in chosen.prompts(split, seed, n):
        tokens = encode(tokenizer, example.prompt, example.target) if tokenizer else None
        _print(example, tokens)
        if tokens and context and len(tokens) > context:
            note(f"longer than the {context:,} tokens of {model}: methods leave it out")


def _print(example: Example, tokens: Tokens | None) -> None:
    stdout.rule(Text(_facts(example, tokens)), align="left", style="dim")
    text = Text(example.prompt)
    text.append(example.target, style="bold black on green" if stdout.is_terminal else "")
    stdout.print(text, soft_wrap=True)
    facts = {
        "target": repr(example.target),
        "choices": ", ".join(map(repr, example.choices)),
        "corrupted": repr(example.corrupted) if example.corrupted else "",
        "its answer": repr(example.corrupted_target) if example.corrupted_target else "",
    }
    for name, value in facts.items():
        if value:
            stdout.print(Text(f"  {name:10} {value}", style="dim"), soft_wrap=True, highlight=False)


def _facts(example: Example, tokens: Tokens | None) -> str:
    parts = [example.function] if example.function else []
    if tokens is not None:
        parts.append(f"{tokens.target_start} + {len(tokens.target)} tokens")
    return " · ".join(parts)
