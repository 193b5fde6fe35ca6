"""Options that several commands share, and how a group of them becomes one parameter."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

import headatlas as ha
from headatlas.cli.screen import Display, waiting

EMBEDDED = "smollm2-135m"
ModelName = Annotated[
    str, typer.Option("--model", "-m", help=f"Hub name, folder, .gguf file, or {EMBEDDED}.")
]
TASK_HELP = (
    "Built-in task, file, folder or hub:NAME; then :icl, :instruction, :plain, :chat, or "
    ":only=FUNCTION; may be repeated (default: "
)
WORD_TASK, PAIRED_TASK = "singular-plural", "ioi"
"""What commands measure by default: the second has corrupted prompts that say where heads look."""

WordTasks = Annotated[
    list[str] | None, typer.Option("--task", "-t", help=f"{TASK_HELP}{WORD_TASK}).")
]
PairedTasks = Annotated[
    list[str] | None, typer.Option("--task", "-t", help=f"{TASK_HELP}{PAIRED_TASK}).")
]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of an atlas.")]
Out = Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")]
Seeds = Annotated[int, typer.Option(min=1, help="Number of seeds.")]
MapNames = Annotated[
    list[str] | None,
    typer.Option("--map", help="Any unambiguous part of a map's name; may be repeated."),
]
MapName = Annotated[str | None, typer.Option("--map", help="Any unambiguous part of a map's name.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Download = Annotated[bool, typer.Option("--download", help="Allow downloads from the hub.")]
Baseline = Annotated[
    bool,
    typer.Option("--baseline/--no-baseline", help="First measure what the untouched model can do."),
]


@dataclass(frozen=True)
class ModelOptions:
    """Which model, and how it is loaded."""

    model: ModelName = EMBEDDED
    device: Annotated[
        str | None, typer.Option(help="Torch device (default: an accelerator if there is one).")
    ] = None
    dtype: Annotated[str | None, typer.Option(help="float32, bfloat16 or float16.")] = None
    attn_implementation: Annotated[
        str | None, typer.Option(help="sdpa, eager, flash_attention_2, … (as in transformers).")
    ] = None
    device_map: Annotated[
        str | None,
        typer.Option(help="Spread the model over devices, e.g. auto (as in transformers)."),
    ] = None
    download: Download = False

    @contextmanager
    def atlas(self, folder: Path) -> Iterator[ha.Atlas]:
        """The atlas of a folder with this model; its progress is shown."""
        with waiting("starting"):
            make = ha.Atlas  # imports torch and transformers
        with Display() as display:
            yield make(folder, self.model or None, progress=display, **self._how())

    def load(self) -> ha.Model:
        """The model itself."""
        with waiting(f"loading {self.model} (a GGUF file is converted once, which takes longer)"):
            return ha.load_model(self.model, **self._how())

    def _how(self) -> dict[str, Any]:
        return {
            "device": self.device,
            "dtype": self.dtype,
            "attn_implementation": self.attn_implementation,
            "device_map": self.device_map,
            "download": self.download,
        }


@dataclass(frozen=True)
class StoredModelOptions(ModelOptions):
    """Which model: the one that a map was made from, unless another place is named."""

    model: Annotated[
        str, typer.Option("--model", "-m", help="Location of the map's model, if it has moved.")
    ] = ""


@dataclass(frozen=True)
class FileOptions:
    """How a task file is read."""

    columns: Annotated[
        str | None, typer.Option(help="Names of a file's columns: prompt=question,target=answer.")
    ] = None
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="What a file's records are: columns, function-vectors, blimp, gsm8k, cogqa, "
            "big-bench (default: detected from the first record).",
        ),
    ] = None
    template: Annotated[
        str | None, typer.Option(help=r"How rows are written: 'Q: {prompt}\nA: {target}'.")
    ] = None
    instruction: Annotated[
        str | None, typer.Option(help="What a file's task is, for the form :instruction.")
    ] = None

    def load(self, task: str, download: bool) -> ha.Task:
        """The task of a name, read in this way if it is a file."""
        return ha.load_task(task, download=download, **self.how())

    def load_all(self, tasks: Sequence[str], download: bool) -> list[ha.Task]:
        """The tasks of several names, each once."""
        return [self.load(name, download) for name in dict.fromkeys(tasks)]

    def how(self) -> dict[str, Any]:
        """How to read, as `load_task` takes it."""
        return {
            "columns": self._columns(),
            "template": _typed(self.template),
            "instruction": _typed(self.instruction),
            "file_format": self.file_format,
        }

    def _columns(self) -> dict[str, str]:
        columns: dict[str, str] = {}
        for pair in filter(None, (part.strip() for part in (self.columns or "").split(","))):
            ours, equals, theirs = (part.strip() for part in pair.partition("="))
            if not (ours and equals and theirs):
                raise ha.HeadAtlasError(
                    f"'{pair}' maps no column: write OURS=THEIRS, such as prompt=question."
                )
            if ours in columns:
                raise ha.HeadAtlasError(f"the column '{ours}' is mapped twice in {self.columns}.")
            columns[ours] = theirs
        return columns


@contextmanager
def stored_atlas(folder: Path) -> Iterator[ha.Atlas]:
    """The atlas of a folder whose maps are only read."""
    with waiting("starting"):
        make = ha.Atlas
    with Display() as display:
        yield make(folder, progress=display)


def _typed(text: str | None) -> str | None:
    """Text of the command line, where a line break is typed as a backslash and an n."""
    return text and text.replace("\\n", "\n").replace("\\t", "\t")


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer wants it: a parameter whose type is a dataclass becomes its fields."""
    hints = get_type_hints(command, include_extras=True)
    parameters: list[Parameter] = []
    groups: dict[str, Any] = {}
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if not is_dataclass(kind):
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY, annotation=kind))
            continue
        groups[parameter.name] = kind
        own = get_type_hints(kind, include_extras=True)
        parameters += [
            Parameter(f.name, Parameter.KEYWORD_ONLY, default=f.default, annotation=own[f.name])
            for f in fields(kind)
        ]

    @wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{f.name: given.pop(f.name) for f in fields(kind)})
        command(**given)

    del run.__wrapped__
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run
