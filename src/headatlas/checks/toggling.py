"""Ordered toggling: do heads do what their scores say?

Heads are sorted by a score. Starting from G⁺, the first k of them are set to 0, and separately to
1; the curve is log P(target | set to 0) − log P(target | set to 1). It falls for facilitation,
stays near 0 for irrelevance, and rises for interference until the interfering heads run out (Nam
et al., arXiv 2505.13737).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from headatlas.checks.held_out import gate_baseline, gate_matrix
from headatlas.checks.measure import Keep, Questions, anew, answer
from headatlas.maps.roles import SCORES, THRESHOLD
from headatlas.stats.clustered import mean_se

if TYPE_CHECKING:
    from torch import Tensor

    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.tasks import Task

Head = tuple[int, int]
R_SHARE = 0.15
"""How much of facilitation's drop the curve of irrelevance may reach to count as flat."""

POINTS = 6
CURVE_QUESTIONS = 8
"""Questions a seed at the points of a curve."""


@dataclass(frozen=True)
class Curve:
    """The toggling curve of a score.

    `heads[i]` heads are toggled at a point; `change` is seed × point. `end` is the change with all
    heads toggled whose score reaches the threshold, `count` of them on average; its 95 % interval
    allows for the seeds and for the questions.
    """

    score: str
    heads: list[int]
    change: list[list[float]]
    end: float
    low: float
    high: float
    count: float


@dataclass(frozen=True)
class Toggling:
    """Toggling curves of a map, and whether they have the signs that the scores predict."""

    task: str
    seeds: int
    questions: int
    curves: list[Curve]

    def holds(self) -> dict[str, bool | None]:
        """Whether F falls, N rises and R stays flat beside F's drop; `None` where none can tell:
        no heads of that role, an interval with 0 inside, or no drop to compare with."""
        by_score = {curve.score: curve for curve in self.curves}
        fall, rise, flat = (by_score[s] for s in ("facilitation", "interference", "irrelevance"))
        falls, rises = _sign(fall, -1), _sign(rise, 1)
        small = bool(abs(flat.end) <= R_SHARE * abs(fall.end))
        return {
            "facilitation": falls,
            "interference": rises,
            "irrelevance": small if falls and flat.count else None,
        }

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"holds": self.holds()}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> Toggling:
        """What `as_dict` has stored."""
        curves = [Curve(**each) for each in stored["curves"]]
        return cls(stored["task"], stored["seeds"], stored["questions"], curves)


def _sign(curve: Curve, wanted: int) -> bool | None:
    if curve.low > 0 or curve.high < 0:
        return bool(curve.end * wanted > 0)
    return None


def toggle(
    model: Model,
    task: Task,
    gates: Map,
    *,
    limit: int = 32,
    points: int = POINTS,
    report: Callable[[int, str], None] | None = None,
    keep: Keep = anew,
) -> Toggling:
    """Toggle heads in the order of each score, on test questions that differ between seeds.

    The ends are asked `limit` questions a seed; the way there, which is only looked at, at most
    `CURVE_QUESTIONS` of them.
    """
    seeds = [int(seed) for seed in gates.data["seed"].to_numpy()]
    grid = _grid(int(np.isfinite(gates["facilitation"].isel(seed=0)).sum()), points)
    asked = {seed: Questions.of(model, task, "test", seed, limit) for seed in seeds}
    few = min(limit, CURVE_QUESTIONS)
    shown = {seed: Questions.of(model, task, "test", seed, few) for seed in seeds}
    baselines = {seed: gate_baseline(model, task, gates, seed) for seed in seeds}
    curves = []
    for score in SCORES:
        change, by_question, counts = [], [], []
        for seed in seeds:
            line = []
            count = int((gates[score].sel(seed=seed) >= THRESHOLD).sum())
            for k, questions in [*((k, shown[seed]) for k in grid), (count, asked[seed])]:
                heads = _order(gates, score, seed)[:k]
                gate = gate_matrix(gates, "G⁺", seed)
                ask = partial(_moved, model, questions, gate, heads, baselines[seed])
                name = f"{score}, seed {seed}, {k} heads, {len(questions.names)} questions"
                moved = np.array(keep(name, ask))
                line.append(float(moved.mean()))
                if report is not None:
                    report(1, f"{score}, seed {seed}, {k} heads")
            change.append(line[:-1])
            counts.append(count)
            by_question.append((moved, asked[seed].names))
        ends = [float(difference.mean()) for difference, _ in by_question]
        concerned = [each for each, count in zip(by_question, counts, strict=True) if count]
        low, high = _interval(ends, concerned)
        curves.append(
            Curve(score, grid, change, float(np.mean(ends)), low, high, float(np.mean(counts)))
        )
    fewest = min(len(each.names) for each in asked.values())
    return Toggling(task.name, len(seeds), fewest, curves)


def _moved(
    model: Model, questions: Questions, start: Tensor, heads: list[Head], baseline: Tensor | None
) -> list[float]:
    """Log-probability with some heads at 0 minus that with them at 1, of every question."""
    off, on = start.clone(), start.clone()
    for head in heads:
        off[head], on[head] = 0.0, 1.0
    without, with_them = (answer(model, questions, gate, baseline).logprob for gate in (off, on))
    moved: list[float] = (without - with_them).tolist()
    return moved


def _interval(
    ends: list[float], by_question: list[tuple[Any, tuple[str, ...]]]
) -> tuple[float, float]:
    """95 % interval of the mean over seeds and questions: the variances of both add up."""
    from scipy.stats import t

    if not by_question:
        return float("nan"), float("nan")
    values = np.concatenate([difference for difference, _ in by_question])
    names = [name for _, asked in by_question for name in asked]
    variance = mean_se(values, names) ** 2
    freedom = len(set(names)) - 1
    if len(ends) > 1:
        variance += mean_se(np.array(ends), [str(i) for i in range(len(ends))]) ** 2
        freedom = min(freedom, len(ends) - 1)
    reach = float(t.ppf(0.975, freedom)) * float(np.sqrt(variance))
    mean = float(np.mean(ends))
    return mean - reach, mean + reach


def _order(gates: Map, score: str, seed: int) -> list[Head]:
    """Heads by falling score; ties in reading order."""
    values = gates[score].sel(seed=seed).to_numpy()
    flat = np.argsort(-np.nan_to_num(values, nan=-1.0), axis=None, kind="stable")
    places = np.stack(np.unravel_index(flat, values.shape), axis=-1)
    return [(int(layer), int(head)) for layer, head in places if np.isfinite(values[layer, head])]


def _grid(heads: int, points: int) -> list[int]:
    """Numbers of heads to toggle, from one to all, evenly on a logarithmic scale."""
    return sorted({int(k) for k in np.geomspace(1, heads, points).round()})


def toggling_passes(gates: Map, points: int = POINTS) -> int:
    """How often `toggle` reports at most."""
    return len(SCORES) * int(gates.data.sizes["seed"]) * (points + 1)
