"""Every method that measures heads on a task, scored against those known to be responsible.

The score is the AUROC of a map's importances: 1 if every responsible head is above all others, 0.5
by chance. BOUND was fixed before any method was run. Every method is scored and its score printed;
where it is known to be below the bound no lower one is put in its place. What is claimed there is
what makes it so, or what the method can see:

- The gradient says next to nothing where log P of the answer is nearly 0: its effects are far below
  those of removing heads.
- Integrated gradients with zero or mean outputs go along a path on which all heads fade together.
  Where half a circuit is worse than none, a head of the circuit gets the wrong sign: which head
  depends on the model, and so on the machine. With zero outputs responsible heads are above all
  that only make noise, in size; with mean outputs not even that held on `marker`, and nothing is
  claimed. Resampled outputs are held to the bound.
- Patching at the last position, direct logits and attention to the target see what is done at the
  end of the circuit. Where heads of another position are part of it, the first head of the map is
  responsible; the others need not be at the front.
- Attention tells where a head looks, not whether anything depends on it. On `selection` the names
  are weighed by heads that do not look at the answer, and both scores of attention are below
  chance (0.11 and 0.22 where this was written): nothing is claimed. The score of induction exists
  only where prompts repeat a word.
- Removal by mean outputs is exactly at the bound on `induction` (0.90 where this was written), so
  that another machine's model can be below it: nothing is claimed there.

Probing and contrast are not scored: they are of functions and of pairs of tasks.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import headatlas.methods as registered
from ground_truth.puzzles import PUZZLES
from ground_truth.trained import ALL_HEADS
from headatlas.maps import combine
from headatlas.maps.compare import importance
from headatlas.methods import Ablation, Attention, Attribution, Gating, Knockout, Patching, Writes

pytestmark = pytest.mark.long

BOUND = 0.9
REPLACEMENTS = ("zero", "mean", "resample")

METHODS = {
    "gating": (Gating(), 3),
    **{f"ablation, {how}": (Ablation(replacement=how), 1) for how in REPLACEMENTS},
    "knockout, zero": (Knockout(replacement="zero"), 1),
    "knockout, resample": (Knockout(replacement="resample"), 1),
    **{f"gradient, {how}": (Attribution(replacement=how), 1) for how in REPLACEMENTS},
    **{f"integrated, {how}": (Attribution(replacement=how, steps=16), 1) for how in REPLACEMENTS},
    "denoising, last": (Patching(direction="denoise", positions="last"), 1),
    "denoising, all": (Patching(direction="denoise", positions="all"), 1),
    "noising, last": (Patching(direction="noise", positions="last"), 1),
    "noising, all": (Patching(direction="noise", positions="all"), 1),
    "attention, induction": (Attention(score="induction"), 1),
    "attention, target": (Attention(score="target_token"), 1),
    "writes": (Writes(), 1),
}
"""Methods with their numbers of seeds. A new method is one line here."""

NO_SCORE = {("attention, induction", "marker")}
"""Its prompts do not repeat a word."""

CASES = [(m, name) for name in PUZZLES for m in METHODS if (m, name) not in NO_SCORE]

GRADIENT = {case for case in CASES if case[0].startswith("gradient")}
SIGN_OPEN = {case for case in CASES if case[0] in ("integrated, zero", "integrated, mean")}
ELSEWHERE = {case for case in CASES if case[0].startswith("attention") and case[1] == "selection"}
AT_THE_END = {case for case in CASES if case[0].startswith("attention") or case[0] == "writes"}
AT_THE_END -= ELSEWHERE
AT_THE_END |= {
    (f"{way}, last", name) for way in ("denoising", "noising") for name in ("induction", "marker")
}
AT_THE_BOUND = {("ablation, mean", "induction")}
NOT_CLAIMED = GRADIENT | SIGN_OPEN | AT_THE_END | ELSEWHERE | AT_THE_BOUND
CLAIMED = [case for case in CASES if case not in NOT_CLAIMED]


@pytest.fixture(scope="module")
def scores_of(known):
    """The importances of a method on a puzzle: layer × head."""

    @cache
    def get(method, name):
        own, (settings, seeds) = known(name), METHODS[method]
        maps = [settings.run(own.model, own.task, seed) for seed in range(seeds)]
        return importance(combine(maps)).to_numpy()

    return get


@pytest.fixture(scope="module")
def auroc_of(known, scores_of):
    def get(method, name):
        scores, responsible = scores_of(method, name), known(name).truth.responsible
        labels = [head in responsible for head in ALL_HEADS]
        return float(roc_auc_score(labels, [scores[head] for head in ALL_HEADS]))

    return get


def test_every_method_of_a_task_is_scored():
    scored = {settings.name for settings, _ in METHODS.values()}
    assert scored == set(registered.METHODS) - {"probing", "contrast"}


@pytest.mark.parametrize(("method", "name"), CASES)
def test_every_head_has_a_score(method, name, scores_of, auroc_of, record_property):
    assert np.isfinite(scores_of(method, name)).all()
    auroc = auroc_of(method, name)
    record_property("auroc", auroc)
    claimed = "" if (method, name) in CLAIMED else " | not claimed"
    print(f"AUROC {name} | {method} | {auroc:.3f}{claimed}")


@pytest.mark.parametrize(("method", "name"), CLAIMED)
def test_responsible_heads_come_first(method, name, auroc_of):
    assert auroc_of(method, name) >= BOUND


@pytest.mark.parametrize(("method", "name"), sorted(GRADIENT))
def test_the_gradient_vanishes(method, name, scores_of):
    """Its largest effect is below a hundredth of that of removing a head."""
    removed = scores_of(method.replace("gradient", "ablation"), name)
    assert np.abs(scores_of(method, name)).max() < 0.01 * np.abs(removed).max()


@pytest.mark.parametrize("name", PUZZLES)
def test_responsible_heads_are_above_noise_in_size(name, known, scores_of):
    """Stated after their signs were seen to be wrong on some models."""
    own, sizes = known(name), np.abs(scores_of("integrated, zero", name))
    noise = [sizes[head] for head in ALL_HEADS if head not in own.trained.kept]
    assert min(sizes[head] for head in own.truth.responsible) > max(noise)


@pytest.mark.parametrize(("method", "name"), sorted(AT_THE_END))
def test_the_first_head_is_responsible_where_only_the_end_is_seen(method, name, known, scores_of):
    scores = scores_of(method, name)
    assert max(ALL_HEADS, key=lambda head: scores[head]) in known(name).truth.responsible
