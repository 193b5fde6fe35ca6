"""Check a task file: what it contains, what is wrong with it, and what cannot be done with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from headatlas.errors import TaskError
from headatlas.tasks.files.columns import ReadOptions
from headatlas.tasks.files.formats import format_of
from headatlas.tasks.files.report import FileReport, Fits, Progress, check_sources
from headatlas.tasks.forms import split_name
from headatlas.tasks.load import BUILT_IN, name_of, open_sources


def check_file(
    name: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    template: str | None = None,
    instruction: str | None = None,
    file_format: str | None = None,
    download: bool = False,
    fits: Fits | None = None,
    progress: Progress | None = None,
) -> dict[str, FileReport]:
    """Read a file, a folder or `hub:NAME` of any size; one report per file or split, by its name.

    The options are those of `load_task`. `fits` decides whether an example fits a model's context;
    the ones that do not are counted. `progress` is called with the name of the file, the number of
    rows read since the last call, and the total number of rows if it is known. The files of a
    folder make one task, so warnings about its splits are in the last report.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.csv"
    ...     _ = path.write_text("prompt,target\\nTwo plus two is, four\\n")
    ...     report = check_file(path)[str(path)]
    >>> report.examples, report.problems
    (1, 0)
    """
    base, _ = split_name(name_of(name))
    if base in BUILT_IN:
        raise TaskError(f"'{base}' is built in: 'headatlas task show {base}' shows it.")
    options = ReadOptions(columns or {}, template, instruction)
    sources = open_sources(base, download)
    kind = format_of(sources[0], file_format, options)
    return check_sources(sources, kind, options, fits=fits, progress=progress)
