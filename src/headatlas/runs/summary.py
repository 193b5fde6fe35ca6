"""What maps say, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from headatlas.maps.functions import head_counts, is_probing
from headatlas.maps.reliability import reliability
from headatlas.maps.roles import (
    THRESHOLD,
    is_gating,
    role_overlap,
    seed_overlap,
    shares,
    unstable_heads,
)

if TYPE_CHECKING:
    from headatlas.maps import Map

UNSTABLE_SHOWN = 8
CHANCE = "chance: independent sets with as many heads in every layer"


def sentences(maps: Sequence[Map], threshold: float = THRESHOLD) -> list[str]:
    """A few sentences per map, then what gating maps have in common."""
    lines: list[str] = []
    for head_map in maps:
        if is_gating(head_map):
            lines += _gating(head_map, threshold)
        elif is_probing(head_map):
            lines += _functions(head_map)
        else:
            task = head_map.provenance.get("task")
            lines += [f"CAUTION: {task}: {warning}" for warning in head_map.warnings]
        if "unfinished" in head_map.provenance:
            lines.append(f"UNFINISHED: this map has {head_map.provenance['unfinished']}.")
    gating = [head_map for head_map in maps if is_gating(head_map)]
    for one, other in combinations(gating, 2):
        if one["facilitation"].shape[1:] == other["facilitation"].shape[1:]:
            lines.append(_common(one, other, threshold))
    return lines


def _gating(head_map: Map, threshold: float) -> Iterator[str]:
    task, seeds = head_map.provenance.get("task"), head_map.data.sizes["seed"]
    map_reliability = reliability(head_map)
    yield from (f"CAUTION: {task}: {warning}" for warning in map_reliability.warnings)
    yield from (f"{task}: {line}" for line in map_reliability.sentences())
    if "stopped" in head_map.provenance:
        yield f"{task}: {head_map.provenance['stopped']}"
    number = f"{seeds} seed{'' if seeds == 1 else 's'}"
    for rule, share in shares(head_map, threshold).items():
        yield (
            f"{task}, {rule} ({number}): {share['facilitation']:.1%} of heads facilitate, "
            f"{share['interference']:.1%} interfere"
        )
    if seeds < 2:
        return
    facilitate, interfere = (
        seed_overlap(head_map, name, threshold) for name in ("facilitation", "interference")
    )
    yield (
        f"{task}: two seeds share {facilitate.share:.0%} of the heads that facilitate in either "
        f"(chance {facilitate.expected:.0%}), and {interfere.share:.0%} of those that interfere "
        f"(chance {interfere.expected:.0%}); {CHANCE}"
    )
    if unstable := sorted(unstable_heads(head_map, threshold), key=lambda row: -min(row[2:])):
        shown = [f"{layer}.{head} ({f}/{n})" for layer, head, f, n in unstable[:UNSTABLE_SHOWN]]
        more = ", …" if len(unstable) > UNSTABLE_SHOWN else ""
        yield (
            f"{task}: {len(unstable)} heads facilitate in some seeds and interfere in others "
            f"(number of seeds of each): {', '.join(shown)}{more}"
        )


def _functions(head_map: Map) -> Iterator[str]:
    for name, count in head_counts(head_map).items():
        low, high = count.elbow_low, count.elbow_high
        bounds = f" (95 % of resampled maps: {low} … {high})" if low is not None else ""
        yield (
            f"{name}: {count.elbow} heads before the elbow{bounds}, {count.significant} "
            f"significant (*), {count.both} both"
        )
    if few := head_map.provenance.get("functions_left_out"):
        shown = ", ".join(f"{name} ({count})" for name, count in few.items())
        yield f"left out, too few examples in a split: {shown}"


def _common(one: Map, other: Map, threshold: float) -> str:
    first, second = (head_map.aggregate("always")["facilitation"] for head_map in (one, other))
    both = role_overlap(first, second, threshold)
    names = " and ".join(str(head_map.provenance.get("task")) for head_map in (one, other))
    return (
        f"{names}: {both.common} heads always facilitate both, {both.share:.0%} of those that "
        f"facilitate either (chance {both.expected:.0%}; {CHANCE})"
    )
