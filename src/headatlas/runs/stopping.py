"""When a run has enough seeds: the mean map reproduces well enough, or the time is up."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from headatlas.errors import HeadAtlasError
from headatlas.maps.reliability import MIN_RELIABILITY, reliability
from headatlas.methods import Gating

if TYPE_CHECKING:
    from headatlas.maps import Map


STABLE_SEEDS, MOST_SEEDS = 6, 40
"""Seeds from which a map may count as stable, and the most that are tried to make it so."""


@dataclass
class StoppingRule:
    """When a run ends before its last seed.

    `stable`: facilitation and interference of the mean map reproduce at least so well, by the lower
    end of their 95 % intervals over layers and seeds, from `STABLE_SEEDS` seeds on. The intervals
    do not allow for a look after every seed: with fewer seeds a run would often stop at a lucky
    moment. `seconds`: no seed is begun that would end later, judged by the seeds of this run (also
    those that diverged); the first is always done. `seeds`: the most, if given.
    """

    stable: float | None = None
    seconds: float | None = None
    seeds: int | None = None
    began: float = field(default_factory=lambda: time.perf_counter())

    @classmethod
    def of(
        cls, method: object, stable: float | None, seconds: float | None, seeds: int | None
    ) -> StoppingRule | None:
        """The rule of a run; none where it is not to end early."""
        if stable is None and seconds is None:
            return None
        if not isinstance(method, Gating):
            raise HeadAtlasError("only gating runs until it is stable, or for a given time.")
        return cls(stable, seconds, seeds)

    def __post_init__(self) -> None:
        if self.stable is not None and not 0 < self.stable < 1:
            raise HeadAtlasError(
                f"a reliability is a number between 0 and 1, such as 0.9, not {self.stable}."
            )
        if self.seconds is not None and not self.seconds > 0:
            raise HeadAtlasError(f"the time must be positive, not {self.seconds} s.")
        if self.stable is not None and self.seeds is not None and self.seeds < STABLE_SEEDS:
            raise HeadAtlasError(
                f"until_stable needs at least {STABLE_SEEDS} seeds, not {self.seeds}; without a "
                f"number of seeds it takes up to {MOST_SEEDS}."
            )

    @property
    def most_seeds(self) -> int:
        """The number of seeds after which a run ends in any case."""
        return MOST_SEEDS if self.seeds is None else self.seeds

    def is_stable(self, head_map: Map | None) -> bool:
        """Whether a map reproduces as well as was asked for."""
        if self.stable is None or head_map is None:
            return False
        return head_map.data.sizes["seed"] >= STABLE_SEEDS and reached(head_map) >= self.stable

    def is_late(self, durations: list[float]) -> bool:
        """Whether the next seed would end after the time is up, if it takes as long as others."""
        if self.seconds is None:
            return False
        used = time.perf_counter() - self.began
        return used + (sum(durations) / len(durations) if durations else 0.0) > self.seconds

    def outcome(self, head_map: Map) -> str | None:
        """How the run ended, for the map's provenance; `None` if there was no limit."""
        seeds = head_map.data.sizes["seed"]
        number = f"{seeds} seed{'' if seeds == 1 else 's'}"
        if self.stable is None:
            return None if self.seconds is None else f"{number} in the time given"
        lower_bound = reached(head_map)
        bound = (
            "unknown"
            if math.isnan(lower_bound)
            else f"{lower_bound:.2f} (lower bound over layers and seeds)"
        )
        words = f"reliability {bound} with {number}"
        if lower_bound >= self.stable and seeds >= STABLE_SEEDS:
            return f"reached {self.stable}: {words}"
        return f"did not reach {self.stable}: {words}"


def reached(head_map: Map) -> float:
    """The lower bound of the reliability of the scores that a map is judged by."""
    map_reliability = reliability(head_map)
    return float(np.min([map_reliability.scores[name].low for name in MIN_RELIABILITY]))
