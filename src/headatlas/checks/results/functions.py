"""Results of checking a map of cognitive functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean
from typing import ClassVar

from headatlas.checks.results.about import MapCheck, percent
from headatlas.checks.results.verdict import HOLDS
from headatlas.stats.intervals import Change

CLAIMS = {
    "masking": "a function's heads matter more for it than random heads",
    "shuffled": "a function's heads matter more for it than those of a probe of shuffled labels",
    "specificity": "a function's heads matter more for it than other functions' heads do",
    "order": "low-order heads matter more for high-order functions than the other way round",
    "strengthening": (
        "pushing heads along their function's direction helps it, more than other directions do"
    ),
}


@dataclass(frozen=True)
class MaskingRow:
    """What masking a function's heads does to its own examples, compared with other heads.

    `chosen` heads lie before the elbow; `heads` of them are masked, because the layers
    `short_layers` have too few others to compare with. Changes are in log P (nats per token).
    `controls` has the mean of every draw of random heads, matched by layer and by the size of their
    output, which is `size_ratio` times that of the masked heads; `difference` is the change minus
    their mean. Its interval covers what a further random draw might do: `holds` says that the
    function's heads lower log P more than that, corrected for the number of functions (Bonferroni).
    Where single heads matter very much, random heads that hold one of them pass more often than the
    level says; the pooled claim guards against that. `shuffled` heads are those that a probe of
    shuffled labels finds most important (`None`: the map has none); the interval of `over_shuffled`
    is over questions alone.
    """

    function: str
    heads: int
    chosen: int
    short_layers: tuple[int, ...]
    size_ratio: float
    examples: int
    change: Change
    controls: tuple[float, ...]
    difference: Change
    shuffled: float | None
    over_shuffled: Change | None
    accuracy: float
    accuracy_change: Change
    accuracy_control: float
    accuracy_difference: Change
    holds: bool | None

    @property
    def control(self) -> float:
        """What masking random heads does, on average."""
        return fmean(self.controls)

    @property
    def shortfall(self) -> str | None:
        """Why fewer heads are masked than lie before the elbow, in a few words."""
        if self.heads == self.chosen:
            return None
        one = len(self.short_layers) == 1
        layers = ", ".join(map(str, self.short_layers))
        return (
            f"masked {self.heads} of {self.chosen}: "
            f"{f'layer {layers} has' if one else f'layers {layers} have'} too few others"
        )


@dataclass(frozen=True)
class Specificity:
    """Mask the first `heads` heads of function A (row), measure function B (column).

    `ranks` is the place of a function's own heads among all functions' by how much they lower its
    log P, 1 the most. `p` and `p_most` are shares of all assignments of the head sets to functions:
    those in which assigned heads harm on average as much as own ones do, and those in which
    assigned heads harm most for as many functions.
    """

    functions: tuple[str, ...]
    heads: int
    change: tuple[tuple[Change, ...], ...]
    accuracy_change: tuple[tuple[float, ...], ...]
    ranks: tuple[int, ...]
    p: float
    p_most: float

    @property
    def most(self) -> int:
        """The number of functions that their own heads harm most."""
        return self.ranks.count(1)


@dataclass(frozen=True)
class OrderRow:
    """Mask a function's heads, measure all functions of the other order."""

    masked: str
    measured: str
    change: Change


@dataclass(frozen=True)
class Order:
    """Mask low-order functions' first `heads` heads and measure high-order functions, and vice
    versa.

    `difference` is low → high minus high → low. Steps of one order may suffer more from any loss of
    heads: `same_steps` is low-order heads minus high-order heads, each measured on the steps of all
    other functions, so that both are compared on the same steps. The intervals of both are over
    questions and over functions' sets of heads; those of single changes are over questions.
    """

    heads: int
    low_to_high: Change
    high_to_low: Change
    difference: Change
    same_steps: Change
    rows: tuple[OrderRow, ...]


@dataclass(frozen=True)
class StrengtheningRow:
    """What pushing a function's heads along its direction does to its examples, compared with as
    large a push of the same heads along random directions, and along other functions' ones."""

    function: str
    heads: int
    examples: int
    change: Change
    over_random: Change
    over_others: Change | None
    accuracy: float
    accuracy_change: Change


@dataclass(frozen=True)
class TriedStrength:
    """What pushing every `select` example's own function does, at one strength."""

    strength: float
    change: Change


@dataclass(frozen=True)
class Strengthening:
    """Pushes with the strength of the largest mean gain on `select`, measured on `test`."""

    strength: float
    tried: tuple[TriedStrength, ...]
    draws: int
    rows: tuple[StrengtheningRow, ...]


@dataclass(frozen=True)
class Claim:
    """A published claim over all examples: its number, and whether it holds (`None`: cannot be
    told). `also` has further numbers, by what they are."""

    change: Change
    holds: bool | None
    also: dict[str, Change] = field(default_factory=dict)


@dataclass(frozen=True)
class FunctionCheck(MapCheck):
    """Masking, specificity, order and strengthening, and the results for the published claims.

    Intervals have the stated `level`; questions are their clusters, or the `prefixes` of
    demonstrations where there are any.

    >>> atlas.check(functions).claims["masking"].holds  # doctest: +SKIP
    True
    """

    kind: ClassVar[str] = "function check"
    figures: ClassVar[tuple[str, ...]] = ("masking", "specificity", "strengthening")

    level: float
    examples: int
    questions: int
    prefixes: int
    draws: int
    masking: tuple[MaskingRow, ...]
    specificity: Specificity
    order: Order | None
    strengthening: Strengthening
    claims: dict[str, Claim | None]

    def marks(self) -> dict[str, bool | None]:
        """Whether the heads before each function's elbow do more than random ones."""
        return {row.function: row.holds for row in self.masking}

    def summary(self) -> list[str]:
        """Results for the published claims, a sentence each, and what could not be compared."""
        return [
            f"intervals: {percent(self.level)}, nats per token",
            *(self._sentence(name) for name in CLAIMS if self.claims.get(name)),
            *self._remarks(),
        ]

    def _sentence(self, name: str) -> str:
        claim = self.claims[name]
        assert claim is not None
        numbers = [change_text(claim.change)]
        numbers += [f"{what} {change_text(change)}" for what, change in claim.also.items()]
        numbers += self._further(name)
        return f"{CLAIMS[name]}: {HOLDS[claim.holds]}, {'; '.join(numbers)}"

    def _further(self, name: str) -> Iterator[str]:
        """Further facts on a claim, in a few words each."""
        if name == "masking":
            surely = sum(row.holds is True for row in self.masking)
            yield f"by itself for {surely} of {len(self.masking)} functions"
        if name == "specificity":
            table = self.specificity
            yield f"p = {table.p:.2g} over all assignments of heads to functions"
            yield (
                f"own heads harm most for {table.most} of {len(table.functions)} functions "
                f"(chance 1, p = {table.p_most:.2g})"
            )
        if name == "strengthening":
            yield f"strength {self.strengthening.strength:g}, chosen on select questions"

    def _remarks(self) -> Iterator[str]:
        for row in self.masking:
            if row.shortfall:
                yield f"{row.function}: {row.shortfall}"
        if self.claims.get("shuffled") is None:
            yield "not compared with a probe of shuffled labels: the map has no such probe's heads"


def change_text(change: Change) -> str:
    """A change with its interval.

    >>> change_text(Change(-0.5, -0.75, -0.25))
    '-0.500 (-0.750 … -0.250)'
    """
    return f"{change.mean:+.3f} ({change.low:+.3f} … {change.high:+.3f})"
