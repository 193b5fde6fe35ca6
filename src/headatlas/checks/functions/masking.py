"""Do a function's heads matter for it? Mask them, and heads like them, and compare."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headatlas.checks.compared import Compared, pooled_difference
from headatlas.checks.controls import Controls, overlap_correlation
from headatlas.checks.functions.steps import Answering, Steps
from headatlas.checks.measure import Answers
from headatlas.checks.results.functions import MaskingRow
from headatlas.errors import HeadAtlasError
from headatlas.maps.order import Head, heads_by
from headatlas.models.edit import Edit
from headatlas.stats.clustered import LEVEL
from headatlas.stats.intervals import Change, mean_change

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.spec import ModelSpec

DRAWS = 16
"""Number of draws of random heads."""

SHUFFLED = "shuffled_importance"
"""The variable of a map that holds what a probe of shuffled labels finds important."""


@dataclass(frozen=True)
class Masked:
    """A function's own steps with its heads masked, with random heads, and with the heads that a
    probe of shuffled labels finds most important, if these are known."""

    function: str
    controls: Controls
    size_ratio: float
    compared: Compared
    shuffled: Answers | None

    def over_shuffled(self, level: float = LEVEL) -> Change | None:
        """How much more the function's heads do than those of a probe of shuffled labels."""
        if self.shuffled is None:
            return None
        values = self.compared.after.logprob - self.shuffled.logprob
        return mean_change(values, self.compared.clusters, level=level)

    def row(self, level: float = LEVEL, functions: int = 1) -> MaskingRow:
        """All numbers of the function; the verdict is corrected for the number of functions."""
        compared, before = self.compared, self.compared.before
        difference = compared.difference("logprob", level)
        shuffled = None
        if self.shuffled is not None:
            shuffled = float(np.mean(self.shuffled.logprob - before.logprob))
        return MaskingRow(
            function=self.function,
            heads=len(self.controls.kept),
            chosen=len(self.controls.kept) + len(self.controls.left_out),
            short_layers=tuple(sorted({layer for layer, _ in self.controls.left_out})),
            size_ratio=self.size_ratio,
            examples=len(before.logprob),
            change=compared.change("logprob", level),
            controls=compared.draw_means("logprob"),
            difference=difference,
            shuffled=shuffled,
            over_shuffled=self.over_shuffled(level),
            accuracy=float(before.exact.mean()),
            accuracy_change=compared.change("exact", level),
            accuracy_control=float(np.mean(compared.draw_means("exact"))),
            accuracy_difference=compared.difference("exact", level),
            holds=compared.difference("logprob", 1 - (1 - level) / functions).below,
        )


def mask(
    spec: ModelSpec,
    steps: Steps,
    function: str,
    chosen: Sequence[Head],
    sizes: Mapping[Head, float],
    before: Answers,
    answer: Answering,
    *,
    shuffled: Sequence[Head] = (),
    draws: int = DRAWS,
) -> Masked:
    """Mask a function's heads (gate 0 at all positions) on its own steps, then `draws` times random
    others like them, then as many of the `shuffled` ones (the most important first) if given."""
    rng = random.Random(f"controls {function} {len(chosen)}")
    controls = Controls.of(chosen, spec.heads(), sizes, rng, draws)
    if not controls.kept:
        raise HeadAtlasError(
            f"all heads of the layers of '{function}' are among its own, so that there are none to "
            "compare them with: check a model with more heads per layer."
        )
    label = f"{function}, {len(controls.kept)} heads"
    after = answer(f"{label} masked", steps, Edit.ablate(spec, controls.kept))
    random_heads = tuple(
        answer(f"{label}, random {number}", steps, Edit.ablate(spec, draw))
        for number, draw in enumerate(controls.draws, 1)
    )
    of_shuffled = None
    if shuffled:
        most = shuffled[: len(controls.kept)]
        of_shuffled = answer(f"{label}, shuffled labels", steps, Edit.ablate(spec, most))
    compared = Compared(steps.clusters, before, after, random_heads, controls.variance_ratio)
    return Masked(function, controls, controls.size_ratio(sizes), compared, of_shuffled)


def pooled_masking(masked: Sequence[Masked], heads: Sequence[Head], level: float = LEVEL) -> Change:
    """Over all steps: how much more their own function's heads do than random ones.

    Functions that share heads are not independent: their sets count as correlated as they overlap.
    """
    correlation = overlap_correlation([result.controls.kept for result in masked], heads)
    return pooled_difference([result.compared for result in masked], "logprob", level, correlation)


def pooled_over_shuffled(masked: Sequence[Masked], level: float = LEVEL) -> Change | None:
    """Over all steps: how much more their own function's heads do than those of a probe of shuffled
    labels; functions are draws, with a variance of their own."""
    pairs = [(result.compared, result.shuffled) for result in masked if result.shuffled is not None]
    if not pairs:
        return None
    values = [compared.after.logprob - other.logprob for compared, other in pairs]
    clusters = [cluster for compared, _ in pairs for cluster in compared.clusters]
    shares = np.array([len(some) for some in values]) / len(clusters)
    means = [float(some.mean()) for some in values]
    between = float(np.std(means, ddof=1)) if len(means) > 1 else float("nan")
    extra_se = between * float(np.sqrt(np.sum(shares**2)))
    return mean_change(np.concatenate(values), clusters, extra_se, len(means) - 1, level=level)


def shuffled_heads(head_map: Map) -> dict[str, list[Head]]:
    """Every function's heads by their mean importance for a probe of shuffled labels, the most
    important first; empty for a map without such a probe."""
    if SHUFFLED not in head_map.variables:
        return {}
    mean = head_map.aggregate("mean", skip_missing=True)[SHUFFLED]
    return {str(name): heads_by(mean.sel(function=name)) for name in mean["function"].to_numpy()}
