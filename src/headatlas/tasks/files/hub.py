"""Data sets of the Hugging Face hub, or local copies of them, through the package `datasets`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from headatlas.errors import TaskError
from headatlas.tasks.files.formats import split_in
from headatlas.tasks.files.rows import Place, Row, Rows, Source, UnreadableError


def hub_sources(name: str, download: bool = False) -> list[Source]:
    """The splits of a data set: `OWNER/NAME` or a folder, then `#CONFIG` if it has several.

    A hub name is looked up in the local cache of the hub; only `download` allows the network. Data
    is streamed from the files; nothing is converted, and no code that comes with it is run.
    """
    try:
        import datasets
    except ImportError:
        raise TaskError(
            "data sets of the hub need the package 'datasets': pip install 'headatlas[hub]'."
        ) from None
    repository, _, config = name.partition("#")
    folder = Path(repository).expanduser()
    if not folder.is_dir():
        folder = _snapshot(repository, download)
    try:
        if (folder / "dataset_dict.json").exists() or (folder / "state.json").exists():
            content: Any = datasets.load_from_disk(str(folder))
        else:
            # streaming stores nothing, but the package needs a folder for its locks
            with tempfile.TemporaryDirectory() as locks:
                content = datasets.load_dataset(
                    str(folder), config or None, streaming=True, cache_dir=locks
                )
    except Exception as error:  # datasets raises whatever its builders do
        raise UnreadableError(f"the data set '{name}' cannot be read: {_first(error)}.") from error
    parts = content if isinstance(content, Mapping) else {"": content}
    return [
        Source(f"{name} [{split}]" if split else name, partial(_rows, name, rows), split_in(split))
        for split, rows in parts.items()
    ]


def _snapshot(repository: str, download: bool) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(
            snapshot_download(repository, repo_type="dataset", local_files_only=not download)
        )
    except Exception as error:  # invalid names, no network
        if download:
            raise TaskError(
                f"the data set '{repository}' could not be downloaded: {_first(error)}."
            ) from error
        raise TaskError(
            f"no data set '{repository}': there is no such folder, and the local cache of the hub "
            "does not have it. To download it, use --download (download=True)."
        ) from error


def _rows(name: str, rows: Iterable[Mapping[str, Any]]) -> Rows:
    try:
        for number, record in enumerate(rows, start=1):
            yield Row(Place(number, "row"), dict(record), {})
    except TaskError:
        raise
    except Exception as error:  # a builder may fail in the middle of a broken file
        raise UnreadableError(f"the data set '{name}' cannot be read: {_first(error)}.") from error


def _first(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160].rstrip(".")
