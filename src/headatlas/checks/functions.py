"""Is a map of cognitive functions true? Mask, compare, order, strengthen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from torch import Tensor

from headatlas.checks.claims import pooled_masking, pooled_order, pooled_specificity
from headatlas.checks.controls import Head
from headatlas.checks.masking import DRAWS, SHARES, Masks, mask, masking_row, order, specificity
from headatlas.checks.steps import Answering, Steps
from headatlas.checks.strengthening import (
    MAIN_STRENGTH,
    STRENGTHS,
    Pushed,
    pooled_strengthening,
    strengthening_row,
)
from headatlas.models.edit import Edit

if TYPE_CHECKING:
    from headatlas.maps.functions import Ranked
    from headatlas.stats.clustered import Change
    from headatlas.models.spec import ModelSpec

Direction = Callable[[str, Sequence[Head]], Tensor]
"""Where a function pushes some heads: layer × head × d_head, 0 at other heads."""

MOST = 1 / 3
"""At most this share of the heads is masked: as many others must be left to draw from."""


def counts_of(ranked: Ranked, shares: Sequence[float] = SHARES) -> tuple[int, list[int]]:
    """How many heads are masked: those before the elbow, and further numbers besides."""
    heads = len(ranked.heads)
    most = max(1, int(heads * MOST))
    main = min(max(1, ranked.elbow), most)
    others = {min(max(1, round(share * heads)), most) for share in shares}
    return main, sorted(others - {main})


def passes_of(ranked: dict[str, Ranked], draws: int = DRAWS) -> int:
    """How often a check asks."""
    masked = sum(1 + len(counts_of(each)[1]) for each in ranked.values())
    return 1 + masked * (1 + draws) + len(STRENGTHS) * len(ranked)


def check_functions(
    spec: ModelSpec,
    steps: Steps,
    ranked: dict[str, Ranked],
    direction: Direction,
    answer: Answering,
    *,
    draws: int = DRAWS,
) -> dict[str, Any]:
    """All causal checks of a map's functions, as plain data.

    `masking` has a row for every function and number of heads; `specificity` tables of masked ×
    measured; `order` the effect of low-order heads on high-order functions; `strengthening` a row
    for every function and strength, `strengthening_of_all` a row a strength over all steps;
    `claims` what the four come to over all steps.
    """
    before = answer("untouched", steps, Edit())
    masked: dict[str, Masks] = {}
    rows, pushed = [], []
    for name, each in ranked.items():
        at, own = steps.at(name), steps.only(name)
        main, others = counts_of(each)
        masked[name] = mask(spec, steps, name, each.heads[:main], before, answer, draws=draws)
        found = [masking_row(name, masked[name], at, elbow=True)]
        for count in others:
            fewer = mask(
                spec, own, f"{name} alone", each.heads[:count], before.at(at), answer, draws=draws
            )
            found.append(masking_row(name, fewer, list(range(len(at))), elbow=False))
        rows += sorted(found, key=lambda row: int(row["heads"]))
        along = direction(name, each.heads[:main])
        for strength in STRENGTHS:
            words = f"{name}, {main} heads, strength {strength:g}"
            after = answer(words, own, Edit(shift=strength * along))
            pushed.append((name, strength, main, before.at(at), after, own.questions))
    return {
        "masking": rows,
        "specificity": specificity(masked, steps),
        "order": order(masked, steps),
        "strengthening": [strengthening_row(*each) for each in pushed],
        "strengthening_of_all": [
            {"strength": strength, **asdict(_pooled(pushed, strength))} for strength in STRENGTHS
        ],
        "claims": {
            "masking": _claim(pooled_masking(masked, steps)),
            "specificity": _claim(pooled_specificity(masked, steps)),
            "order": _claim(pooled_order(masked, steps)),
            "strengthening": _claim(_pooled(pushed, MAIN_STRENGTH), rises=True),
        },
        "examples": len(steps.rows),
        "questions": len(set(steps.questions)),
        "draws": draws,
    }


def _pooled(pushed: Sequence[Pushed], strength: float) -> Change:
    return pooled_strengthening([each for each in pushed if each[1] == strength])


def _claim(found: Change | None, *, rises: bool = False) -> dict[str, Any] | None:
    """A claim's number, and whether it holds (`None`: undecided)."""
    if found is None:
        return None
    return asdict(found) | {"holds": found.above if rises else found.below}
