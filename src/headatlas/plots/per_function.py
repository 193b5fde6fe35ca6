"""Small panels, one a function, for the checks of a map of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headatlas.errors import PlotError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headatlas.stats.intervals import Change

CHANGE = "change of log P (nats)"


def require_functions(names: Sequence[str], figure: str) -> None:
    """Raise if a check holds nothing that the figure could show."""
    if not names:
        raise PlotError(
            f"this function check holds no numbers for the figure {figure}: check the map again."
        )


def error_bars(changes: Sequence[Change]) -> list[list[float]]:
    """How far the 95 % intervals reach below and above the means, as `errorbar` takes it."""
    return [
        [change.mean - change.low for change in changes],
        [change.high - change.mean for change in changes],
    ]
