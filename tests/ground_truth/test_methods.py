"""Every method that makes a map, scored against the heads that are known to be responsible.

The score is the AUROC of a map's importances: 1 if every responsible head is above all others, 0.5
by chance. BOUND was fixed before any method was run. What is known to fall below is in `BELOW`,
with the reason; it is expected to fail, not excused by a lower bound.
"""

from __future__ import annotations

import pytest
from sklearn.metrics import roc_auc_score

from ground_truth.puzzles import PUZZLES
from ground_truth.trained import ALL_HEADS
from headatlas.maps import combine
from headatlas.maps.compare import importance
from headatlas.methods import Ablation, Attribution, Gating, Knockout, Patching

pytestmark = pytest.mark.long

BOUND = 0.9

METHODS = {
    "gating": (Gating(), 3),
    "ablation, zero": (Ablation(replacement="zero"), 1),
    "ablation, mean": (Ablation(replacement="mean"), 1),
    "ablation, resample": (Ablation(replacement="resample"), 1),
    "knockout, zero": (Knockout(replacement="zero"), 1),
    "knockout, resample": (Knockout(replacement="resample"), 1),
    "gradient, zero": (Attribution(replacement="zero"), 1),
    "gradient, mean": (Attribution(replacement="mean"), 1),
    "gradient, resample": (Attribution(replacement="resample"), 1),
    "integrated, zero": (Attribution(replacement="zero", steps=16), 1),
    "integrated, mean": (Attribution(replacement="mean", steps=16), 1),
    "denoising, last": (Patching(direction="denoise", positions="last"), 1),
    "denoising, all": (Patching(direction="denoise", positions="all"), 1),
    "noising, last": (Patching(direction="noise", positions="last"), 1),
    "noising, all": (Patching(direction="noise", positions="all"), 1),
}
"""Methods with their numbers of seeds. A new method is one line here."""

SATURATED = "likely because log P of the answer is nearly 0, where its gradient vanishes"
ONE_POSITION = "the first head of the circuit works at an earlier position, which is not patched"
UNKNOWN = "measured below the bound; the cause has not been established"

BELOW = {
    **{
        (f"gradient, {how}", name): SATURATED
        for how in ("zero", "mean", "resample")
        for name in PUZZLES
    },
    **{
        (f"{way}, last", name): ONE_POSITION
        for way in ("denoising", "noising")
        for name in ("induction", "marker")
    },
    ("integrated, zero", "induction"): UNKNOWN,
    ("integrated, mean", "induction"): UNKNOWN,
}
"""Not strict: another machine trains another model, in which a map can be right by luck."""


def _cases():
    for name in PUZZLES:
        for method in METHODS:
            reason = BELOW.get((method, name))
            marks = [pytest.mark.xfail(reason=reason, raises=AssertionError)] if reason else []
            yield pytest.param(method, name, marks=marks, id=f"{name}: {method}")


@pytest.mark.parametrize(("method", "name"), list(_cases()))
def test_responsible_heads_come_first(known, method, name, record_property):
    own, (settings, seeds) = known(name), METHODS[method]
    maps = [settings.run(own.model, own.task, seed) for seed in range(seeds)]
    scores = importance(combine(maps)).to_numpy()
    responsible = [head in own.truth.responsible for head in ALL_HEADS]
    auroc = float(roc_auc_score(responsible, [scores[head] for head in ALL_HEADS]))
    record_property("auroc", auroc)
    print(f"AUROC {name} | {method} | {auroc:.3f}")
    assert auroc >= BOUND
