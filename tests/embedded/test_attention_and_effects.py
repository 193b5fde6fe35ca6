"""Do heads that attend as a task needs matter to it? Four methods on the embedded model.

On `induction` the heads are those with an induction pattern (Olsson et al. 2022), on `ioi` those
that attend from the last position to the indirect object (Wang et al. 2023). A head counts if its
score is above the mean by three standard deviations, over all heads: fixed before any effect was
looked at. Every method runs with its own defaults, on few examples; gating with the quick schedule
and one seed. The claim is that these heads are above the rest: one-sided Mann–Whitney, p < 0.01.

What does not hold is expected to fail, with its reason, not excused by a weaker claim. A second
claim, made after the first was seen to fail, is about the size of effects: attending to a name is
not the same as helping to say it, and removing some of these heads makes the target likelier.
Neither is beyond doubt: with 32 examples one head of `induction` fewer counts (six), and there the
gradient (p = 0.11) and zero ablation (p = 0.023) do not show the first claim.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from headatlas.maps.compare import importance
from headatlas.methods import Ablation, Attention, Attribution, Gating, Patching
from headatlas.tasks import load_task

pytestmark = pytest.mark.long

EXAMPLES = 16
LEVEL = 0.01
SCORES = {"induction": "induction", "ioi": "target_token"}
METHODS = {
    "ablation": Ablation(examples=EXAMPLES),
    "attribution": Attribution(examples=EXAMPLES),
    "patching": Patching(examples=EXAMPLES, direction="denoise"),
    "gating": Gating.quick(),
}
HELPS_WHEN_REMOVED = "two of nine heads attend to the indirect object, but the task gains without"
QUICK = "measured p = {} with the quick schedule and one seed; longer fits have not been tried here"
DOES_NOT_HOLD = {
    ("induction", "gating"): QUICK.format(0.022),
    ("ioi", "gating"): QUICK.format(0.039),
    ("ioi", "ablation"): f"measured p = 0.11: {HELPS_WHEN_REMOVED} them (24.4, 21.5)",
    ("ioi", "attribution"): f"measured p = 0.074: {HELPS_WHEN_REMOVED} them (24.4, 21.5)",
}
SIZE_DOES_NOT_HOLD = {
    ("ioi", "attribution"): "measured p = 0.014; the cause has not been established",
}
"""Not strict: rounding on another machine can move a p-value across the level."""


@pytest.fixture(scope="module")
def importance_of(embedded):
    """How much a task needs every head, by a method, and which heads attend as it needs."""

    @cache
    def attending(task):
        method = Attention(score=SCORES[task], examples=EXAMPLES)
        scores = method.run(embedded, load_task(task))[SCORES[task]].sel(seed=0).to_numpy()
        return scores > scores.mean() + 3 * scores.std()

    @cache
    def get(task, method):
        values = importance(METHODS[method].run(embedded, load_task(task))).to_numpy()
        return values, attending(task)

    return get


def compare(values, attending, name):
    found = mannwhitneyu(values[attending], values[~attending], alternative="greater")
    auroc = found.statistic / (attending.sum() * (~attending).sum())
    print(
        f"{name}: {attending.sum()} heads, AUROC {auroc:.3f}, p = {found.pvalue:.2g}, "
        f"{np.round(values[attending], 3).tolist()}"
    )
    return found.pvalue


def cases(methods, failing):
    for task in SCORES:
        for method in methods:
            reason = failing.get((task, method))
            marks = [pytest.mark.xfail(reason=reason, raises=AssertionError)] if reason else []
            yield pytest.param(task, method, marks=marks, id=f"{task}: {method}")


@pytest.mark.parametrize("task", SCORES)
def test_there_are_such_heads_and_they_are_few(importance_of, task):
    _, attending = importance_of(task, "attribution")
    assert 3 <= attending.sum() <= 27


@pytest.mark.parametrize(("task", "method"), list(cases(METHODS, DOES_NOT_HOLD)))
def test_heads_that_attend_are_needed_more_than_others(importance_of, task, method):
    values, attending = importance_of(task, method)
    assert compare(values, attending, f"{task}, {method}") < LEVEL


@pytest.mark.parametrize(
    ("task", "method"), list(cases(("ablation", "attribution", "patching"), SIZE_DOES_NOT_HOLD))
)
def test_heads_that_attend_have_larger_effects_in_size(importance_of, task, method):
    values, attending = importance_of(task, method)
    assert compare(np.abs(values), attending, f"{task}, {method}, size") < LEVEL
