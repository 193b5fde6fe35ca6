"""How far maps agree, as a result."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan, sqrt
from typing import ClassVar

from headatlas.maps.naming import joint_name, safe_name, short_name
from headatlas.maps.result import Result

AND = " / "
"""Between the names of different models, tasks or methods."""


@dataclass(frozen=True)
class AgreementRow:
    """Agreement of two maps over heads, for one function or for the whole maps.

    `spearman` (95 %: `low` … `high`, not known for fewer than ten heads) is over the `heads` that
    both have; `within` the same with every layer's mean subtracted, which is what is left when
    depth alone is not counted. `top_overlap` is the
    share of the `top_k` most important heads that both have, and what chance gives; `top_p` is
    how often chance gives as much.

    `reliability` of the two maps, the correlation of each with another map made like it, is known
    where each was measured at least twice (split halves, Spearman and Brown); `ceiling`, the root
    of their product, is the correlation that maps which agree but for independent noise would have.
    `disattenuated` is the correlation without noise (95 %: `disattenuated_low` …
    `disattenuated_high`): the correlation divided by the ceiling, but across opposite halves of
    maps that were measured on the same questions. The errors of such maps agree too, so `spearman`
    can exceed `ceiling`. `within_reliability` and `within_disattenuated` are the same with every
    layer's mean subtracted. NaN where not known; `unknown` says why.
    """

    pair: tuple[str, str]
    function: str | None
    heads: int
    spearman: float
    low: float
    high: float
    within: float
    within_low: float
    within_high: float
    top_k: int
    top_overlap: float
    top_p: float
    top_expected: float
    reliability: tuple[float, float] = (nan, nan)
    disattenuated: float = nan
    disattenuated_low: float = nan
    disattenuated_high: float = nan
    within_reliability: tuple[float, float] = (nan, nan)
    within_disattenuated: float = nan
    unknown: str = ""

    @property
    def has_top(self) -> bool:
        """Whether there are most important heads: not all, and not all tied."""
        return 0 < self.top_k < self.heads

    @property
    def interval_text(self) -> str:
        """The 95 % interval of the correlation, a dash where it is not known."""
        return "–" if isnan(self.low) else f"{self.low:+.2f} … {self.high:+.2f}"

    @property
    def ceiling(self) -> float:
        """The largest correlation to expect if the errors of the maps were independent."""
        one, other = self.reliability
        return sqrt(one * other) if one > 0 and other > 0 else nan

    def ceiling_text(self) -> str:
        """The ceiling and what the correlation would be without noise, or why that is not known."""
        one, other = self.reliability
        if isnan(one) or isnan(other):
            return (
                f"the maps' reliability is not known{f': {self.unknown}' if self.unknown else ''}"
            )
        known = f"reliabilities {one:.2f} and {other:.2f}"
        if isnan(self.ceiling):
            return f"{known}: too noisy to compare"
        if self.unknown:
            return f"{known}, ceiling {self.ceiling:.2f}; without noise not known: {self.unknown}"
        if isnan(self.disattenuated_low):
            return f"{known}, ceiling {self.ceiling:.2f}: too noisy to say more"
        return (
            f"{known}, ceiling {self.ceiling:.2f}; without noise {self.disattenuated:+.2f} "
            f"({self.disattenuated_low:+.2f} … {self.disattenuated_high:+.2f})"
        )


@dataclass(frozen=True)
class Comparison(Result):
    """Agreement of two or more maps, pair by pair; `warnings` say which of them mean little yet.

    `model`, `task` and `method` name what the maps are of, with " / " between different ones.

    >>> comparison = atlas.compare("gating", "ablation")  # doctest: +SKIP
    >>> comparison.rows[0].spearman  # doctest: +SKIP
    0.21
    """

    kind: ClassVar[str] = "comparison"

    maps: tuple[str, ...]
    model: str
    task: str
    rows: tuple[AgreementRow, ...]
    warnings: tuple[str, ...] = ()
    method: str = ""

    @property
    def figures(self) -> tuple[str, ...]:
        """Of two maps lines with intervals; of more a matrix, as lines would be too many."""
        return ("agreement",) if len(self.labels) < 3 else ("agreement-matrix",)

    @property
    def file_name(self) -> str:
        joint = joint_name(self.maps)
        if len(self.maps) < 3:
            return joint
        shared = [name for name in (self.model, self.subject) if AND not in name]
        digest = joint.rsplit("-", 1)[-1]
        return ".".join(
            [*(safe_name(short_name(name)) for name in shared), f"{len(self.maps)}-maps-{digest}"]
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """What the maps are called in the rows."""
        return tuple(dict.fromkeys(label for row in self.rows for label in row.pair))

    @property
    def functions(self) -> tuple[str | None, ...]:
        """The functions that are compared one by one; `None` stands for whole maps."""
        return tuple(dict.fromkeys(row.function for row in self.rows))

    @property
    def subject(self) -> str:
        """What all maps share: their task, their method, or both; else all their tasks."""
        shared = [words for words in (self.task, self.method) if words and AND not in words]
        return ", ".join(shared) or self.task

    def summary(self) -> list[str]:
        """What to beware of, then a sentence per pair and function."""
        return [f"CAUTION: {warning}" for warning in self.warnings] + [
            f"{' and '.join(row.pair)}{f', {row.function}' if row.function else ''}: rank "
            f"correlation {row.spearman:+.2f} ({row.interval_text}) over {row.heads} heads "
            f"({row.ceiling_text()}){_top_text(row)}"
            for row in self.rows
        ]


def _top_text(row: AgreementRow) -> str:
    """How many of the most important heads two maps share; nothing where these are all heads, or
    ties leave open which they are."""
    if not row.has_top:
        return ""
    return (
        f"; of the {row.top_k} most important heads they share {row.top_overlap:.0%} (chance "
        f"{row.top_expected:.0%}, p = {row.top_p:.2g})"
    )
