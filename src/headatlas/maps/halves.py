"""The two halves of what a map was measured from: what its reliability is known by."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import xarray as xr

from headatlas.maps.importance import importance_of
from headatlas.maps.labels import count_of_seeds

if TYPE_CHECKING:
    from headatlas.maps.map import Map

ONE_SEED = "one seed: all questions follow the same demonstrations; use --seeds 2"
ONE_SEARCH = "one seed: all heads are estimated from the same removals; use --seeds 2"
ONE_FIT = "one seed; use --seeds 2"
AVERAGED = "its seeds are averaged"
"""Why the reliability of a map is not known."""


DRAWN_FOR = {"gating": "train"}
"""The split of methods whose maps do not name one."""

EVERY_SEED = -1
"""Stands for the seed of a draw that took all questions there are, as every seed does."""


class Sample(NamedTuple):
    """What half a map was measured on: some questions of a task that a seed draws.

    `drawn_for` tells draws of one seed apart, such as a split, `questions` which half of which
    draw; `None` stands for all.
    """

    task: str
    drawn_for: str
    seed: int
    questions: tuple[Any, ...] | None = None

    def shares_questions(self, other: Sample) -> bool:
        """Whether two maps were, or may have been, measured on the same questions."""
        if self[:2] != other[:2]:
            return False
        if EVERY_SEED in (self.seed, other.seed):
            return True
        if self.seed != other.seed:
            return False
        if self.questions is None or other.questions is None:
            return True
        return self.questions == other.questions or self.questions[1:] != other.questions[1:]


class Halves(NamedTuple):
    """How much the task needs every head, larger for more, by two halves of the measurements.

    `factor`: how many times as much the map was measured from as each half; `samples`: what each
    was measured on.
    """

    one: xr.DataArray
    other: xr.DataArray
    factor: float
    samples: tuple[frozenset[Sample], frozenset[Sample]]

    def independent_of(self, other: Halves) -> bool:
        """Whether two maps share no question."""
        return not any(_share(own, others) for own, others in product(self.samples, other.samples))

    def aligned_with(self, other: Halves) -> bool:
        """Whether neither half of a map shares a question with the opposite half of another."""
        opposite = zip(self.samples, reversed(other.samples), strict=True)
        return not any(_share(own, others) for own, others in opposite)

    def exchanged(self) -> Halves:
        """The same halves, the other first."""
        return Halves(self.other, self.one, self.factor, self.samples[::-1])


def halves(head_map: Map) -> Halves | None:
    """Two equal halves of what a map was measured from, so that their correlation tells that with
    another map made like it; `None` if they are not known.

    Halves are other seeds, and of a probing map also other questions. One seed draws all its
    questions for the same demonstrations: they do not tell what others would give, and only where
    there are none the halves of a map of effects are other questions. Of an odd number of seeds the
    last is in neither: `factor` then counts seeds, the larger of the two for probes, so that a
    correlation without noise is rather too small.
    """
    both = _halves(head_map)
    return None if isinstance(both, str) else both


def why_unknown(head_map: Map) -> str:
    """Why a map's reliability is not known; nothing if it is."""
    both = _halves(head_map)
    return both if isinstance(both, str) else ""


def _halves(head_map: Map) -> Halves | str:
    """The halves, or why there are none."""
    ranking, data = importance_of(head_map), head_map.data
    values = data[ranking.variable]
    seeds = data.sizes.get("seed", 1)
    even, odd = (slice(k, seeds // 2 * 2, 2) for k in range(2))
    factor = seeds / (seeds // 2) if seeds > 1 else 2.0
    questions = _halves_of_questions(head_map, ranking.variable)
    if "importance_part" in data:
        parts, sizes = data["importance_part"], data["part_examples"]
        one, other = (
            _weighted(parts.isel(part=slice(k, None, 2)), sizes.isel(part=slice(k, None, 2)))
            for k in range(2)
        )
        if seeds > 1:
            one, other = one.isel(seed=even), other.isel(seed=odd)
    elif seeds > 1:
        one, other = (values.isel(seed=half) for half in (even, odd))
        if one.to_numpy().tobytes() == other.to_numpy().tobytes() and len(questions) == 2:
            one, other = questions  # all seeds draw the same questions
            seeds, factor = 1, 2.0
    elif len(questions) == 2:
        one, other = questions
    else:
        return _reason(head_map)
    numbers = _seed_numbers(head_map)
    seeds_of = (numbers[even], numbers[odd]) if seeds > 1 else (numbers, numbers)
    samples = _samples(head_map, seeds_of, by_question=seeds == 1)
    one, other = (ranking.sign * _over_seeds(half) for half in (one, other))
    return Halves(one, other, factor, samples)


def _halves_of_questions(head_map: Map, variable: str) -> list[xr.DataArray]:
    """The effects on every other question, where questions are all that differs between maps."""
    data = head_map.data
    if f"{variable}_half" not in data or "alone" in data or _demonstrations(head_map):
        return []
    return [data[f"{variable}_half"].isel(half=k, drop=True) for k in range(2)]


def _reason(head_map: Map) -> str:
    if "aggregated" in head_map.provenance and "seed" not in head_map.data.dims:
        return AVERAGED
    if "alone" in head_map.data:
        return ONE_SEARCH
    return ONE_SEED if _demonstrations(head_map) else ONE_FIT


def _demonstrations(head_map: Map) -> int:
    """How many demonstrations the prompts of a map begin with: what its task's form says."""
    facts = head_map.provenance
    form = str(facts.get("task_form") or facts.get("task"))
    number = re.search(r"(?:^|:)icl(?:=(\d+))?(?=:|$)", form)
    if number is not None:
        return int(number[1] or 1)
    return int(re.search(r"(?:^|:)instruction(?=:|$)", form) is not None)


def _seed_numbers(head_map: Map) -> list[int]:
    facts = head_map.provenance
    if "seed" in head_map.data.coords:
        return [int(seed) for seed in head_map.data["seed"].to_numpy().ravel()]
    return list(facts.get("seeds", [facts.get("seed", 0)]))


def _samples(
    head_map: Map, seeds_of: Sequence[Sequence[int]], *, by_question: bool
) -> tuple[frozenset[Sample], frozenset[Sample]]:
    """What both halves were measured on; forms of a task have the same questions."""
    facts = head_map.provenance
    task = str(facts.get("task")).partition(":")[0]
    method = str(facts.get("method"))
    drawn_for = str(facts.get("split") or DRAWN_FOR.get(method, method))
    whole = not by_question and _took_all(head_map)
    one, other = (
        frozenset(
            Sample(
                task,
                drawn_for,
                EVERY_SEED if whole else int(seed),
                (half, *_draw(head_map)) if by_question else None,
            )
            for seed in seeds
        )
        for half, seeds in enumerate(seeds_of)
    )
    return one, other


def _took_all(head_map: Map) -> bool:
    """Whether every seed drew all questions of the split: fewer than were asked for."""
    settings = dict(head_map.provenance.get("settings", {}))
    if "examples" not in settings:
        return False
    wanted = settings["examples"]
    names = {*head_map.provenance, *map(str, head_map.data.coords)}
    counted = [n for n in names if n.startswith("examples_") and not n.startswith("examples_of")]
    drawn = math.fsum(math.fsum(count_of_seeds(head_map, name)) for name in counted)
    if "examples_used" not in counted or math.isnan(drawn):
        return False
    return wanted is None or drawn < wanted * len(count_of_seeds(head_map))


def _draw(head_map: Map) -> tuple[Any, ...]:
    """What decides which question is in which half."""
    facts, data = head_map.provenance, head_map.data
    settings = dict(facts.get("settings", {}))
    names = {name for name in (*facts, *map(str, data.coords)) if name.startswith("examples_")}
    used = {name: count_of_seeds(head_map, name) for name in sorted(names - {"examples_of"})}
    counts = data.coords.get(f"{importance_of(head_map).variable}_questions")
    return (
        settings.get("examples"),
        bool(settings.get("by_function")),
        str({name: own for name, own in used.items() if any(own)}),
        None if counts is None else str(counts.to_numpy().tolist()),
    )


def _share(some: frozenset[Sample], others: frozenset[Sample]) -> bool:
    return any(one.shares_questions(other) for one, other in product(some, others))


def _weighted(parts: xr.DataArray, sizes: xr.DataArray) -> xr.DataArray:
    """The mean over parts, each with its number of examples; NaN where there is none."""
    total = sizes.sum("part")
    mean: xr.DataArray = (parts * sizes).sum("part", min_count=1) / total.where(total > 0)
    return mean


def _over_seeds(values: xr.DataArray) -> xr.DataArray:
    return values.mean("seed", skipna=True) if "seed" in values.dims else values
