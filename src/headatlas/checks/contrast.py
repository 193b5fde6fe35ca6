"""Does a contrast keep the one and forget the other, on questions that it was not learned from?

Switching off many heads ruins much of a model whichever they are. So the learned gates have a
control: the same gates shuffled among the heads of every layer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from headatlas.checks.measure import Questions, answer
from headatlas.checks.results.contrast import Contrasted
from headatlas.methods.baseline import most_common_share
from headatlas.stats.arrays import FloatArray
from headatlas.stats.intervals import clustered_share_interval
from headatlas.stats.paired_shares import PairedShares, paired_shares

if TYPE_CHECKING:
    from headatlas.maps import Map
    from headatlas.models.model import Model
    from headatlas.tasks import Task

QUESTIONS_PER_PREFIX = 2
"""Questions that follow the same demonstrations: few, since such questions are not independent."""

SHUFFLES = 4
"""Draws of shuffled gates in all; they take the seeds in turn."""

UNKNOWN = (math.nan, math.nan)


class Measured(NamedTuple):
    """One task of a pair."""

    shares: PairedShares
    by_seed: FloatArray
    by_draw: FloatArray
    questions: int
    prefixes: int


def check_contrast(
    model: Model,
    retain: Task,
    forget: Task,
    gates: Map,
    learned_from: Sequence[str],
    *,
    limit: int = 128,
) -> Contrasted:
    """Measure both tasks of a pair: untouched, under the learned gates of every seed, and under
    shuffled ones.

    All gates answer the same questions after the same demonstrations as the untouched model.
    """
    kept, lost = (measure_side(model, task, gates, "test", limit) for task in (retain, forget))
    return Contrasted(
        retain=retain.name,
        forget=forget.name,
        learned_from=tuple(learned_from),
        retain_before=kept.shares.before,
        retain_after=kept.shares.after,
        forget_before=lost.shares.before,
        forget_after=lost.shares.after,
        questions=min(kept.questions, lost.questions),
        seeds=len(kept.by_seed),
        retain_before_interval=kept.shares.before_interval,
        retain_after_interval=kept.shares.after_interval,
        forget_before_interval=lost.shares.before_interval,
        forget_after_interval=lost.shares.after_interval,
        prefixes=min(kept.prefixes, lost.prefixes),
        retain_by_seed=tuple(kept.by_seed.tolist()),
        forget_by_seed=tuple(lost.by_seed.tolist()),
        retain_correlation=kept.shares.correlation,
        forget_correlation=lost.shares.correlation,
        retain_chance=most_common_share(retain),
        forget_chance=most_common_share(forget),
        retain_shuffled=tuple(kept.by_draw.tolist()),
        forget_shuffled=tuple(lost.by_draw.tolist()),
    )


def untouched_pair(model: Model, retain: Task, forget: Task, *, limit: int = 128) -> Contrasted:
    """Both tasks of a pair with the untouched model alone: enough to see whether it can do them."""
    sides = []
    for task in (retain, forget):
        questions = Questions.of(model, task, "test", 0, limit, QUESTIONS_PER_PREFIX)
        right = answer(model, questions, None).exact
        clusters = [str(number) for number in questions.prefixes]
        interval = clustered_share_interval(right, clusters)
        sides.append((float(right.mean()), interval, len(right), len(questions.batches)))
    (kept, kept_interval, *kept_counts), (lost, lost_interval, *lost_counts) = sides
    return Contrasted(
        retain=retain.name,
        forget=forget.name,
        learned_from=(),
        retain_before=kept,
        retain_after=math.nan,
        forget_before=lost,
        forget_after=math.nan,
        questions=min(kept_counts[0], lost_counts[0]),
        seeds=0,
        retain_before_interval=kept_interval,
        retain_after_interval=UNKNOWN,
        forget_before_interval=lost_interval,
        forget_after_interval=UNKNOWN,
        prefixes=min(kept_counts[1], lost_counts[1]),
        retain_by_seed=(),
        forget_by_seed=(),
        retain_correlation=math.nan,
        forget_correlation=math.nan,
        retain_chance=most_common_share(retain),
        forget_chance=most_common_share(forget),
    )


def measure_side(model: Model, task: Task, gates: Map, split: str, limit: int) -> Measured:
    """Answers to the questions of a split: untouched, under every seed's gates, and shuffled."""
    questions = Questions.of(model, task, split, 0, limit, QUESTIONS_PER_PREFIX)
    before = answer(model, questions, None).exact

    def answers(gate_matrices: FloatArray) -> FloatArray:  # gates layer head -> gates question
        given = (torch.tensor(gate).float().nan_to_num(1.0) for gate in gate_matrices)
        return np.stack([answer(model, questions, gate).exact for gate in given])

    after = answers(gates["gate"].transpose("seed", "layer", "head").to_numpy())
    return Measured(
        paired_shares(before, after, [str(number) for number in questions.prefixes]),
        after.mean(axis=1),
        answers(shuffled_gates(gates)).mean(axis=1),
        len(before),
        len(questions.batches),
    )


def shuffled_gates(gates: Map) -> FloatArray:
    """Draws of gates (draw × layer × head): a seed's own, permuted among the heads of every layer.

    The draws take the seeds in turn. They depend on nothing but the gates, so that both tasks of a
    pair are measured under the same ones.
    """
    learned = gates["gate"].transpose("seed", "layer", "head")
    draws = []
    for draw in range(SHUFFLES):
        of_seed = learned.isel(seed=draw % learned.sizes["seed"])
        rng = np.random.default_rng((int(of_seed["seed"]), draw))
        shuffled = of_seed.to_numpy().copy()
        for layer in shuffled:
            exists = np.isfinite(layer)
            layer[exists] = rng.permutation(layer[exists])
        draws.append(shuffled)
    return np.stack(draws)
