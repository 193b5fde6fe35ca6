"""Results of checking a map of cognitive functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headatlas.checks.results.about import MapCheck
from headatlas.stats.intervals import Change

CLAIMS = {
    "masking": "a function's heads matter more for it than random heads",
    "specificity": "a function's heads matter more for it than other functions' heads do",
    "order": "low-order functions' heads matter for high-order functions, more than random heads",
    "strengthening": "pushing heads along their function's direction helps it",
}
HOLDS = {True: "holds", False: "does not hold", None: "undecided"}


@dataclass(frozen=True)
class MaskingRow:
    """What masking a function's first heads does to its own examples, beside random heads.

    `change` is in log P (nats per token), `control` the mean of `draws` random sets of heads,
    `difference` the one minus the other. `elbow` marks the row that masks the heads before the
    elbow. `holds`: the function's heads lower log P more than random ones do.
    """

    function: str
    heads: int
    elbow: bool
    examples: int
    draws: int
    change: Change
    control: float
    difference: Change
    accuracy: float
    accuracy_change: Change
    accuracy_control: float
    accuracy_difference: Change
    holds: bool | None


@dataclass(frozen=True)
class Specificity:
    """Mask the heads of function A (row), measure function B (column)."""

    functions: tuple[str, ...]
    heads: tuple[int, ...]
    accuracy_change: tuple[tuple[float, ...], ...]
    change: tuple[tuple[Change, ...], ...]
    difference: tuple[tuple[Change, ...], ...]


@dataclass(frozen=True)
class OrderRow:
    """Mask a low-order function's heads, measure a high-order function (or all of them)."""

    masked: str
    measured: str
    heads: int
    change: Change
    difference: Change


@dataclass(frozen=True)
class StrengtheningRow:
    """What pushing a function's heads along its direction does to its examples."""

    function: str
    heads: int
    strength: float
    change: Change
    accuracy: float
    accuracy_change: Change


@dataclass(frozen=True)
class PooledStrength:
    """What pushing every example's own function does, at one strength."""

    strength: float
    change: Change


@dataclass(frozen=True)
class Claim:
    """A published claim over all examples: its number, and whether it holds (`None`: undecided)."""

    change: Change
    holds: bool | None


@dataclass(frozen=True)
class FunctionCheck(MapCheck):
    """Masking, specificity, order and strengthening, and the results for the four published claims.

    >>> atlas.check(functions).claims["masking"].holds  # doctest: +SKIP
    True
    """

    kind: ClassVar[str] = "function check"
    figures: ClassVar[tuple[str, ...]] = ("masking", "specificity", "strengthening")

    examples: int
    questions: int
    draws: int
    masking: tuple[MaskingRow, ...]
    specificity: Specificity
    order: tuple[OrderRow, ...]
    strengthening: tuple[StrengtheningRow, ...]
    strengthening_of_all: tuple[PooledStrength, ...]
    claims: dict[str, Claim | None]

    def marks(self) -> dict[str, bool | None]:
        """Whether the heads before each function's elbow do more than random ones."""
        return {row.function: row.holds for row in self.masking if row.elbow}

    def summary(self) -> list[str]:
        """Results for the published claims, a sentence each."""
        return [
            f"{CLAIMS[name]}: {HOLDS[claim.holds]}, {claim.change.mean:+.3f} nats "
            f"({claim.change.low:+.3f} … {claim.change.high:+.3f})"
            for name, claim in self.claims.items()
            if claim is not None
        ]
