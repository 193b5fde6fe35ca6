"""What the commands share when they print."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

import headatlas as ha

LINE_INTERVAL = 30.0
"""Seconds between the plain lines that stand for a progress bar where there is no terminal."""

stdout = Console(emoji=False)
stderr = Console(stderr=True, emoji=False)


def say(text: str, style: str = "") -> None:
    """Print a line as it is."""
    stdout.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def note(text: str) -> None:
    """Something that the user should know; the work goes on."""
    stderr.print(f"note: {text}", highlight=False, markup=False, soft_wrap=True)


class NoteHandler(logging.Handler):
    """Prints what the library logs, and no other one, as notes."""

    def __init__(self) -> None:
        super().__init__()
        self.addFilter(logging.Filter("headatlas"))

    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


class Display:
    """Shows progress: bars with the time left in a terminal, else a plain line now and then."""

    def __init__(self) -> None:
        self._works: dict[str, _Work] = {}
        self._lock = threading.Lock()
        self._bars: Progress | None = None
        self._ids: dict[str, Any] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        if self._bars is not None:
            self._bars.stop()

    def __call__(self, progress: ha.Progress) -> None:
        """Receive a progress update."""
        with self._lock:
            known = self._works.get(progress.work)
            if known is None or not progress.detail:
                self._works[progress.work] = _Work(time.monotonic(), progress.done, progress)
            else:
                self._works[progress.work] = replace(known, progress=progress)
            if stderr.is_terminal:
                self._show_bar(progress)
            elif self._thread is None:
                self._thread = threading.Thread(target=self._print_lines, daemon=True)
                self._thread.start()
            if progress.finished:
                del self._works[progress.work]

    def _show_bar(self, progress: ha.Progress) -> None:
        if self._bars is None:
            columns = (TextColumn("{task.description}", markup=False), BarColumn())
            times = (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
            self._bars = Progress(*columns, MofNCompleteColumn(), *times, console=stderr)
        if progress.work not in self._ids:
            self._bars.start()
            self._ids[progress.work] = self._bars.add_task(progress.work, total=progress.total)
        words = f"{progress.work}: {progress.detail}" if progress.detail else progress.work
        total = None if progress.total is None else max(progress.total, progress.done)
        self._bars.update(
            self._ids[progress.work], completed=progress.done, total=total, description=words
        )
        if progress.finished:
            self._bars.stop_task(self._ids.pop(progress.work))
            if not self._ids:
                self._bars.stop()
                self._bars = None

    def _print_lines(self) -> None:
        while not self._stop.wait(LINE_INTERVAL):
            with self._lock:
                lines = [work.line() for work in self._works.values()]
            for line in lines:
                stderr.print(line, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show that something of unknown length is going on."""
    if stderr.is_terminal:
        with stderr.status(escape(what)):
            yield
        return
    with Display() as display:
        display(ha.Progress(what, 0, None))
        yield
        display(ha.Progress(what, 0, None, finished=True))


@dataclass(frozen=True)
class _Work:
    """A running job: start time, steps already done at the start, and last update.

    Steps without words were finished before, and say nothing about how long the others take.
    """

    begun: float
    known: int
    progress: ha.Progress

    def line(self) -> str:
        """Name, progress and time left."""
        progress, seconds = self.progress, time.monotonic() - self.begun
        words = f" ({progress.detail})" if progress.detail else ""
        if not progress.total:
            return f"{progress.work}: {duration(seconds)} so far{words}"
        total = max(progress.total, progress.done)
        left = "time left unknown"
        if computed := progress.done - self.known:
            left = f"{duration(seconds / computed * (total - progress.done))} left"
        return f"{progress.work}: {progress.done} of {total}, {left}{words}"


class PlainTable(Table):
    """A table whose cells are printed as they are: brackets in a user's names are no markup."""

    def add_row(self, *cells: RenderableType | None, **settings: Any) -> None:
        plain = (escape(cell) if isinstance(cell, str) else cell for cell in cells)
        super().add_row(*plain, **settings)


def table(*columns: str, left: Iterable[str] = ()) -> Table:
    """A plain table: words in `left` columns, which wrap on a narrow screen; else numbers."""
    made = PlainTable(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        words = column in left
        made.add_column(column, justify="left" if words else "right", no_wrap=not words)
    return made


def name_files(paths: Iterable[Path]) -> None:
    """End by naming the files that were written."""
    for path in paths:
        say(f"wrote {path}")


def duration(seconds: float) -> str:
    """Seconds in human-readable units."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def size(count: float) -> str:
    """Bytes in human-readable units."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def shortened(name: str, longest: int = 23) -> str:
    """A name that leaves room for numbers beside it."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"
