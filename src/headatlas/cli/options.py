"""Options that several commands share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headatlas.errors import HeadAtlasError

if TYPE_CHECKING:
    from headatlas.tasks.files.columns import How

ModelName = Annotated[
    str,
    typer.Option("--model", "-m", help="Hub name, folder, .gguf file, or smollm2-135m (embedded)."),
]
TaskName = Annotated[
    str,
    typer.Option(
        "--task",
        "-t",
        help="Built-in task, file, folder or hub:NAME; then :icl, :instruction, :plain, :chat.",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(help="Names of a file's columns: prompt=question,target=answer."),
]
FileFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="What a file's records are: columns, function-vectors, blimp, gsm8k, cogqa, "
        "big-bench (default: as its first record shows).",
    ),
]
Template = Annotated[
    str | None,
    typer.Option(help=r"How a file's rows are written: 'Q: {prompt}\nA: {target}'."),
]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")]
Device = Annotated[
    str | None, typer.Option(help="Torch device; default: an accelerator if there is one.")
]
Dtype = Annotated[str | None, typer.Option(help="float32, bfloat16 or float16.")]
Attention = Annotated[
    str | None, typer.Option(help="Attention kernel: sdpa, eager, flash_attention_2, …")
]
DeviceMap = Annotated[
    str | None, typer.Option(help="Spread the model over devices, e.g. auto (as transformers).")
]
Download = Annotated[bool, typer.Option("--download", help="Allow getting the model from the hub.")]


def parse_how(columns: str | None, template: str | None) -> How:
    """How to read a file, from the options."""
    from headatlas.tasks.files.columns import How

    mapped = {}
    for pair in (columns or "").split(","):
        if not pair.strip():
            continue
        ours, equals, theirs = (part.strip() for part in pair.partition("="))
        if not (ours and equals and theirs):
            raise HeadAtlasError(
                f"'{pair.strip()}' maps no column: write OURS=THEIRS, such as prompt=question."
            )
        mapped[ours] = theirs
    written = template and template.replace("\\n", "\n").replace("\\t", "\t")
    return How(mapped, written)


def parse_heads(text: str | None) -> tuple[tuple[int, int], ...] | None:
    """Heads written as LAYER.HEAD, separated by commas."""
    if text is None:
        return None
    heads = []
    for word in filter(None, re.split(r"[,\s]+", text)):
        found = re.fullmatch(r"(\d+)\.(\d+)", word)
        if not found:
            raise HeadAtlasError(f"'{word}' is not a head: write LAYER.HEAD, such as 3.5.")
        heads.append((int(found[1]), int(found[2])))
    return tuple(heads)
