"""Tasks as a model gets them, without its weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headatlas.errors import HeadAtlasError
from headatlas.models.load.embedded import EMBEDDED
from headatlas.models.load.loader import load_tokenizer
from headatlas.models.tokens import encode
from headatlas.tasks import Example, FileReport, Task
from headatlas.tasks import check_file as check_sources


@dataclass(frozen=True)
class PromptPreview:
    """A prompt as the model gets it; token counts are `None` for a model without a tokenizer.

    >>> PromptPreview(Example("2 + 2 =", " 4"), 4, 2, too_long=False).example.target
    ' 4'
    """

    example: Example
    prompt_tokens: int | None
    target_tokens: int | None
    too_long: bool


@dataclass(frozen=True)
class Preview:
    """A task for a model's tokenizer, and some of its prompts.

    >>> [shown.prompt_tokens for shown in ha.preview(task, n=3).prompts]  # doctest: +SKIP
    [27, 26, 28]
    """

    task: Task
    context: int | None
    prompts: tuple[PromptPreview, ...]


def preview(
    task: Task,
    model: str = EMBEDDED,
    *,
    n: int = 5,
    split: str = "test",
    seed: int = 0,
    download: bool = False,
) -> Preview:
    """Some prompts of a task with their token counts; loads the tokenizer, not the weights.

    >>> preview(load_task("antonym"), n=1).prompts[0].target_tokens  # doctest: +SKIP
    1
    """
    task.split(split)
    tokenizer, context = load_tokenizer(model, download=download)
    task = task.for_tokenizer(tokenizer)
    prompts = []
    for example in task.prompts(split, seed, n):
        prompt_tokens = target_tokens = None
        too_long = False
        if tokenizer is not None:
            tokens = encode(tokenizer, example.prompt, example.target)
            prompt_tokens, target_tokens = tokens.target_start, len(tokens.target)
            too_long = context is not None and len(tokens) > context
        prompts.append(PromptPreview(example, prompt_tokens, target_tokens, too_long))
    return Preview(task, context, tuple(prompts))


def check_file(
    name: str, *, model: str | None = None, download: bool = False, **options: Any
) -> dict[str, FileReport]:
    """Read a task file, folder or hub data set and report what is there and what is wrong.

    With a `model`, examples longer than its context are counted. Other options are those of
    `load_task`, and `progress`. Gives one report per file.

    >>> check_file("my.jsonl")  # doctest: +SKIP
    """
    fits = _fits(model, download) if model is not None else None
    return check_sources(name, download=download, fits=fits, **options)


def _fits(model: str, download: bool) -> Callable[[Example], bool]:
    tokenizer, context = load_tokenizer(model, download=download)
    if tokenizer is None or context is None:
        raise HeadAtlasError(
            f"{model} does not say which tokenizer or context it has: leave the model out."
        )

    def fits(example: Example) -> bool:
        return len(encode(tokenizer, example.prompt, example.target)) <= context

    return fits
