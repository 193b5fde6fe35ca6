"""What a figure is drawn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headatlas.errors import PlotError
from headatlas.maps.comparison import Comparison
from headatlas.maps.map import Map
from headatlas.maps.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawing:
    """A registered figure: the function that draws it, and what it can be drawn from.

    `function` gets a sequence of maps or results, and its settings as keywords. `takes` is their
    class and `kind` the word for them; maps must have the variables or coordinates in `needs`.
    `several` says whether one figure can show more than one of them; a comparison must be of at
    least `fewest_maps`.
    """

    function: Callable[..., Figure]
    takes: type[Map] | type[Result]
    kind: str
    needs: tuple[str, ...] = ()
    several: bool = False
    fewest_maps: int = 2

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.function.__doc__ or "").strip().splitlines()[0]

    @property
    def settings(self) -> tuple[str, ...]:
        """Names of the settings."""
        return tuple(self.function.__kwdefaults__ or ())

    def suits(self, thing: object) -> bool:
        """Whether the figure can be drawn from this map or result."""
        return isinstance(thing, self.takes) and not self.missing(thing)

    def missing(self, thing: object) -> list[str]:
        """What a map or comparison would need for this figure and does not have."""
        if isinstance(thing, Comparison) and 0 < len(thing.labels) < self.fewest_maps:
            return [f"{self.fewest_maps} or more maps"]
        if not isinstance(thing, Map):
            return []
        return [name for name in self.needs if name not in thing.data.variables]

    def check_thing(self, figure: str, thing: object) -> None:
        """Raise unless the figure, which goes by this name, can be drawn from the thing."""
        if self.suits(thing):
            return
        kind = kind_of(thing)
        if kind == self.kind or (isinstance(thing, Result) and isinstance(thing, self.takes)):
            lacks = ", ".join(self.missing(thing))
            raise PlotError(f"the figure {figure} needs {lacks}, which this {kind} does not have.")
        raise PlotError(
            f"the figure {figure} shows {_with_article(self.kind)}, not {_with_article(kind)}."
        )

    def check_settings(self, figure: str, names: list[str]) -> None:
        """Raise unless the figure, which goes by this name, has all these settings."""
        for name in names:
            if name not in self.settings:
                have = ", ".join(self.settings) or "none"
                raise PlotError(f"the figure {figure} has no setting '{name}': it has {have}.")


def kind_of(thing: object) -> str:
    """The word for a map or result: "ablation map", "gating check"."""
    if isinstance(thing, Map):
        return f"{thing.provenance.get('method', '')} map".strip()
    return thing.kind if isinstance(thing, Result) else type(thing).__name__


def _with_article(words: str) -> str:
    return f"{'an' if words[0].lower() in 'aeiou' else 'a'} {words}"
