"""What all results of checks have in common."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from headatlas.maps.stored import Stored

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class About:
    """The map that was checked (by name and hash of its numbers), its model and task, and the
    number of test questions that was requested."""

    map: str
    map_hash: str
    model: str
    task: str
    requested: int


class Result(Stored):
    """A finished check: a frozen dataclass with `as_dict`, `from_dict` and figures."""

    def plot(self, figure: str | None = None, **settings: Any) -> Figure:
        """Draw the result; without a name, its main figure."""
        from headatlas.plots import default_figure, draw

        return draw(figure or default_figure(self), self, **settings)

    def summary(self) -> list[str]:
        """What was found, in plain sentences."""
        return []

    def _repr_html_(self) -> str:
        from headatlas.plots import default_figure, figure_html

        lines = "".join(f"<p>{escape(line)}</p>" for line in self.summary())
        return lines + figure_html(default_figure(self), self)
