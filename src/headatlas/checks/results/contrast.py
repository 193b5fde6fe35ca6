"""Results of contrastive gating."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headatlas.maps.naming import joint_name
from headatlas.maps.result import Result

Interval = tuple[float, float]


@dataclass(frozen=True)
class Contrasted(Result):
    """Accuracy (exact targets) of a pair of tasks on test questions, untouched and under the gates.

    Means over seeds; 95 % intervals over questions. `possible`: the untouched model can do both
    tasks, so there is something to keep and to lose. `holds`: enough is forgotten and enough is
    kept (`None` if the pair is not possible).
    """

    kind: ClassVar[str] = "contrasted pair"

    retain: str
    forget: str
    learned_from: tuple[str, ...]
    retain_before: float
    retain_after: float
    forget_before: float
    forget_after: float
    questions: int
    seeds: int
    retain_before_interval: Interval
    retain_after_interval: Interval
    forget_before_interval: Interval
    forget_after_interval: Interval
    possible: bool
    holds: bool | None


@dataclass(frozen=True)
class ContrastCheck(Result):
    """Every tested pair of a contrast; `maps` names the maps whose gates were tested.

    >>> atlas.contrast([("antonym:instruction", "antonym:icl")]).contrasts  # doctest: +SKIP
    """

    kind: ClassVar[str] = "contrast check"
    figures: ClassVar[tuple[str, ...]] = ("contrast",)

    model: str
    maps: tuple[str, ...]
    contrasts: tuple[Contrasted, ...]

    @property
    def file_name(self) -> str:
        return joint_name(self.maps)

    def summary(self) -> list[str]:
        """How many pairs hold."""
        possible = [pair for pair in self.contrasts if pair.possible]
        holding = sum(bool(pair.holds) for pair in possible)
        return [f"holds for {holding} of {len(possible)} pairs that the model can do"]
