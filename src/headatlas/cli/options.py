"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headatlas.cli.screen import waiting
from headatlas.errors import HeadAtlasError

if TYPE_CHECKING:
    from headatlas.models.model import Model
    from headatlas.tasks import Task
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
        help="Built-in task, file, folder or hub:NAME; then :icl, :instruction, :plain, :chat, "
        "or :only=FUNCTION.",
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
Instruction = Annotated[
    str | None, typer.Option(help="What a file's task is, for the form :instruction.")
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
Loader = Callable[[str], "Task"]
Download = Annotated[bool, typer.Option("--download", help="Allow getting things from the hub.")]


@dataclass(frozen=True)
class ModelOptions:
    """Which model, and how it is loaded."""

    model: ModelName = "smollm2-135m"
    device: Device = None
    dtype: Dtype = None
    attention: Attention = None
    device_map: DeviceMap = None
    download: Download = False

    def load(self) -> Model:
        """Load the model, with something to look at meanwhile."""
        with waiting("starting"):
            from headatlas.models.load.loader import load_model
        with waiting(f"loading {self.model} (a GGUF file is converted once, which takes longer)"):
            return load_model(
                self.model,
                device=self.device,
                dtype=self.dtype,
                attn_implementation=self.attn_implementation,
                device_map=self.device_map,
                download=self.download,
            )


@dataclass(frozen=True)
class FileOptions:
    """How a task file is read."""

    columns: Columns = None
    file_format: FileFormat = None
    template: Template = None
    instruction: Instruction = None

    def load(self, task: str, download: bool) -> Task:
        """The task of a name, read in this way if it is a file."""
        from headatlas.tasks import load_task

        return load_task(
            task,
            columns=self.mapped(),
            template=_typed(self.template),
            instruction=_typed(self.instruction),
            file_format=self.file_format,
            download=download,
        )

    def how(self) -> How:
        """How to read, as the readers take it."""
        from headatlas.tasks.files.columns import How

        return How(self.mapped(), _typed(self.template), _typed(self.instruction))

    def mapped(self) -> dict[str, str]:
        """Our names of columns with the file's."""
        mapped: dict[str, str] = {}
        for pair in filter(None, (part.strip() for part in (self.columns or "").split(","))):
            ours, equals, theirs = (part.strip() for part in pair.partition("="))
            if not (ours and equals and theirs):
                raise HeadAtlasError(
                    f"'{pair}' maps no column: write OURS=THEIRS, such as prompt=question."
                )
            if ours in mapped:
                raise HeadAtlasError(f"the column '{ours}' is mapped twice in {self.columns}.")
            mapped[ours] = theirs
        return mapped


def _typed(text: str | None) -> str | None:
    """Text of the command line, where a line break is typed as a backslash and an n."""
    return text and text.replace("\\n", "\n").replace("\\t", "\t")


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
