"""How far work has come: what an atlas tells its callback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """One piece of work: `done` of `total` steps (`None`: unknown), and what it is doing now.

    >>> Progress("gating of math", 3, 78, "seed 0, G, update 3, loss 1.204").done
    3
    """

    work: str
    done: int
    total: int | None
    detail: str = ""
    finished: bool = False


Callback = Callable[[Progress], None]
Step = Callable[[int, str], None]
"""Called with the number of steps that were just finished and a few words on them."""


@contextmanager
def tracked(callback: Callback | None, work: str, total: int | None = None) -> Iterator[Step]:
    """Report a piece of work to the callback; what runs inside gets a function to count steps."""
    done = 0
    detail = ""

    def notify(*, finished: bool = False) -> None:
        if callback is not None:
            callback(Progress(work, done, total, detail, finished))

    def step(steps: int, words: str = "") -> None:
        nonlocal done, detail
        done, detail = done + steps, words or detail
        notify()

    notify()
    try:
        yield step
    finally:
        notify(finished=True)


class Bars:
    """Progress bars with the time left, in terminals and notebooks; nothing elsewhere."""

    def __init__(self) -> None:
        self._bars: dict[str, Any] = {}

    def __call__(self, progress: Progress) -> None:
        from tqdm.auto import tqdm

        bar = self._bars.get(progress.work)
        if bar is None:
            # disable=None: no bars where nobody looks at them, such as log files
            bar = tqdm(total=progress.total, desc=progress.work, leave=False, disable=None)
            self._bars[progress.work] = bar
        bar.set_postfix_str(progress.detail, refresh=False)
        bar.update(progress.done - bar.n)
        if progress.finished:
            self._bars.pop(progress.work).close()


show_bars = Bars()
"""The default progress callback."""
