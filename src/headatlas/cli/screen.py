"""What the commands share when they print."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)


class Move(Protocol):
    """Moves a progress bar on by some steps, and says what is going on."""

    def __call__(self, steps: int, words: str = "", /) -> None: ...


stdout = Console(emoji=False)
stderr = Console(stderr=True, emoji=False)


def note(what: str) -> None:
    """Something that the user should know; the work goes on."""
    stderr.print(f"note: {what}", highlight=False, markup=False, soft_wrap=True)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show that something of unknown length is going on."""
    with stderr.status(escape(what)):
        yield


@contextmanager
def progress_bar(what: str, total: int | None) -> Iterator[Move]:
    """A bar with the time left; what is inside gets a function to move it."""
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=stderr,
    )
    with bar:
        task = bar.add_task(what, total=total)

        def move(steps: int, words: str = "", /) -> None:
            description = f"{what}: {words}" if words else None
            bar.update(task, advance=steps, description=description)

        yield move


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"


def size(count: float) -> str:
    """Bytes as people say them."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def shortened(name: str, longest: int = 23) -> str:
    """A name that leaves room for numbers beside it."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"
