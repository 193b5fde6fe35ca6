"""Contrast: measured before and after, and judged by intervals."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from headatlas.checks.contrast import (
    QUESTIONS_PER_PREFIX,
    SHUFFLES,
    check_contrast,
    shuffled_gates,
)
from headatlas.checks.measure import Questions, answer
from headatlas.checks.results import ContrastCheck
from headatlas.checks.results.contrast import IMPOSSIBLE, Contrasted
from headatlas.checks.results.verdict import HOLDS
from headatlas.errors import StoreError
from headatlas.maps import Map
from headatlas.models.edit import Edit
from headatlas.stats.paired_shares import paired_shares
from headatlas.tasks import Example, Task

SHAPE = (3, 4)
ONES = torch.ones(SHAPE)


def letters(model, prompts, gate):
    """What the model says next, after prompts of one length."""
    ids = torch.tensor([model.encode(prompt, " x").ids[: len(prompt)] for prompt in prompts])
    with torch.no_grad(), model.editing(Edit(gate=gate)):
        return [model.tokenizer.decode([each]) for each in model.hf(ids).logits[:, -1].argmax(-1)]


def answered(model, name, gate=ONES, *, same=True, count=40):
    """A task whose answers are the untouched model's, and the same, or not, under the gates."""
    prompts = [f"{name} {number * 7919:07d} the" for number in range(1000)]
    given, changed = letters(model, prompts, ONES), letters(model, prompts, gate)
    examples = [
        Example(prompt, letter)
        for prompt, letter, other in zip(prompts, given, changed, strict=True)
        if letter.isascii() and letter.isprintable() and (letter == other) == same
    ]
    assert len(examples) >= count
    return replace(Task.of(name, examples), splits={"test": tuple(examples[:count])})


def map_of(gates):
    return Map.of(
        {"gate": (("seed", "layer", "head"), gates.numpy())}, {}, {"seed": list(range(len(gates)))}
    )


@pytest.fixture(scope="module")
def half_off():
    """Gates of two seeds that differ a little."""
    first = torch.rand(SHAPE, generator=torch.Generator().manual_seed(0)).round()
    second = first.clone()
    second[0, 0] = 1 - second[0, 0]
    return torch.stack([first, second])


def test_a_contrast_is_measured_before_and_after(tiny, half_off):
    everything = answered(tiny, "plain")
    differing = answered(tiny, "other", half_off[0], same=False)

    def accuracy(task, gate):
        questions = Questions.of(tiny, task, "test", 0, 8, QUESTIONS_PER_PREFIX)
        return float(answer(tiny, questions, gate).exact.mean())

    found = check_contrast(tiny, everything, differing, map_of(half_off), ["x"], limit=8)
    assert found.retain_before == found.forget_before == 1
    assert found.retain_by_seed == tuple(accuracy(everything, gate) for gate in half_off)
    assert found.retain_after == np.mean(found.retain_by_seed) < 1
    assert found.forget_by_seed[0] == 0  # the first seed gives no answer
    assert found.forget_after == accuracy(differing, half_off[1]) / 2
    shuffled = torch.tensor(shuffled_gates(map_of(half_off)))
    for task, by_draw in (
        (everything, found.retain_shuffled),
        (differing, found.forget_shuffled),
    ):
        assert by_draw == tuple(accuracy(task, gate) for gate in shuffled)
    assert (found.seeds, found.questions, found.prefixes) == (2, 8, 4)
    assert found.learned_from == ("x",)
    targets = [each.target for split in everything.splits.values() for each in split]
    assert found.retain_chance == max(map(targets.count, targets)) / 40


def test_gates_that_keep_one_and_forget_the_other_hold_and_random_ones_do_not(tiny):
    gate = ONES.clone()
    gate[1:, :2] = 0
    gates = gate.expand(3, *SHAPE)
    unchanged = answered(tiny, "ab", gate)
    changed = answered(tiny, "xy", gate, same=False)
    found = check_contrast(tiny, unchanged, changed, map_of(gates), [])
    assert found.possible
    assert found.selective
    assert (found.holds, found.verdict) == (True, HOLDS[True])
    backwards = check_contrast(tiny, changed, unchanged, map_of(gates), [])
    assert (backwards.holds, backwards.verdict) == (False, HOLDS[False])
    untouched = check_contrast(tiny, unchanged, changed, map_of(torch.ones(3, *SHAPE)), [])
    assert untouched.holds is False
    one, two = (answered(tiny, name) for name in ("kl", "mn"))
    random = torch.rand((3, *SHAPE), generator=torch.Generator().manual_seed(1))
    for pair in ((one, two), (two, one), (unchanged, changed)):
        assert check_contrast(tiny, *pair, map_of(random), []).holds is not True


def test_gates_of_a_whole_layer_are_inconclusive(tiny):
    """They keep one and forget the other, but so do they when shuffled: no head was chosen."""
    gate = ONES.clone()
    gate[1] = 0
    pair = (answered(tiny, "ab", gate), answered(tiny, "xy", gate, same=False))
    found = check_contrast(tiny, *pair, map_of(gate.expand(3, *SHAPE)), [])
    assert found.retained_margin.above
    assert found.forgotten_margin.below
    assert (found.retain_shuffled, found.forget_shuffled) == ((1.0,) * SHUFFLES, (0.0,) * SHUFFLES)
    assert found.selective is False
    assert (found.holds, found.verdict) == (None, HOLDS[None])


def test_shuffled_gates_are_permuted_within_layers_and_reproducible():
    gates = torch.rand((3, 5, 8), generator=torch.Generator().manual_seed(0))
    gates[:, 1, 5:] = torch.nan  # heads that this layer does not have
    draws = shuffled_gates(map_of(gates))
    assert len(draws) == SHUFFLES == 4
    for draw, seed in enumerate((0, 1, 2, 0)):
        own = gates[seed].numpy()
        assert np.array_equal(np.sort(draws[draw]), np.sort(own), equal_nan=True)
        assert np.isnan(draws[draw][1, 5:]).all()
        for shuffled, layer in zip(draws[draw], own, strict=True):
            assert not np.array_equal(shuffled, layer, equal_nan=True)
    assert not np.array_equal(draws[0], draws[3], equal_nan=True)
    assert np.array_equal(draws, shuffled_gates(map_of(gates)), equal_nan=True)


def judged(retain_before, retain_after, forget_before, forget_after, seeds=3, number=64):
    """A pair judged from answers with these shares of right ones, the same in every seed."""
    clusters = [str(i // 2) for i in range(number)]
    order = np.random.default_rng(0).permutation(number)

    def shares(before, after):
        rights = [(order < round(share * number)).astype(float) for share in (before, after)]
        return paired_shares(rights[0], np.stack([rights[1]] * seeds), clusters)

    kept, lost = shares(retain_before, retain_after), shares(forget_before, forget_after)
    return Contrasted(
        "a", "b", (), kept.before, kept.after, lost.before, lost.after, number, seeds,
        kept.before_interval, kept.after_interval, lost.before_interval, lost.after_interval,
        prefixes=number // 2, retain_by_seed=(), forget_by_seed=(),
        retain_correlation=kept.correlation, forget_correlation=lost.correlation,
        retain_chance=0.0, forget_chance=0.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("accuracies", "verdict"),
    [
        ((0.9, 0.9, 0.9, 0.0), HOLDS[True]),
        ((0.9, 0.2, 0.9, 0.0), HOLDS[False]),  # too little is kept
        ((0.9, 0.9, 0.9, 0.5), HOLDS[False]),  # too little is forgotten
        ((0.9, 0.6, 0.9, 0.0), HOLDS[None]),  # kept by its point value, 0.54, alone
        ((0.9, 0.9, 0.9, 0.15), HOLDS[None]),  # forgotten by its point value, 0.18, alone
        ((0.9, 0.9, 0.9, 0.2), HOLDS[None]),
        ((0.9, 0.1, 0.9, 0.18), HOLDS[False]),  # one side is enough to fail
        ((0.9, 0.9, 0.1, 0.0), IMPOSSIBLE),
        ((0.1, 0.1, 0.9, 0.0), IMPOSSIBLE),
    ],
)
def test_verdicts_come_from_intervals(accuracies, verdict):
    assert judged(*accuracies).verdict == verdict


@pytest.mark.parametrize(
    ("accuracies", "shuffled", "selective", "holds"),
    [
        ((0.9, 0.9, 0.9, 0.0), ((), ()), None, True),
        ((0.9, 0.9, 0.9, 0.0), ((0.0, 0.2, 0.3, 0.1), (0.0,) * 4), True, True),
        ((0.9, 0.9, 0.9, 0.0), ((0.9, 0.9, 0.9, 0.9), (0.3,) * 4), True, True),
        ((0.9, 0.9, 0.9, 0.0), ((0.0, 0.2, 0.95, 0.1), (0.0,) * 4), False, None),  # one is enough
        ((0.9, 0.2, 0.9, 0.0), ((0.0, 0.2, 0.95, 0.1), (0.0,) * 4), False, False),
        ((0.9, 0.6, 0.9, 0.0), ((0.0,) * 4, (0.0,) * 4), True, None),  # as without the control
    ],
)
def test_a_pair_holds_only_if_shuffled_gates_do_worse(accuracies, shuffled, selective, holds):
    retain, forget = shuffled
    pair = replace(judged(*accuracies), retain_shuffled=retain, forget_shuffled=forget)
    assert pair.selective is selective
    assert pair.holds is holds


def test_a_draw_that_does_just_as_well_is_not_exceeded():
    pair = judged(0.9, 0.9, 0.9, 0.0)
    equal = replace(pair, retain_shuffled=(pair.retain_after,), forget_shuffled=(0.0,))
    assert equal.selective is False


def test_a_pair_stored_before_there_was_a_control_is_read():
    pair = judged(0.9, 0.9, 0.9, 0.0)
    stored = pair.as_dict()
    del stored["retain_shuffled"], stored["forget_shuffled"]
    assert Contrasted.from_dict(stored) == pair
    assert (pair.selective, pair.holds) == (None, True)


def test_seeds_that_differ_leave_a_pair_open():
    clusters = [str(i // 2) for i in range(64)]
    before = np.ones(64)
    kept = paired_shares(before, np.stack([np.ones(64), np.ones(64), np.zeros(64)]), clusters)
    same = judged(0.95, 0.95, 0.95, 0.0)
    assert same.holds is True
    mixed = replace(same, retain_after=kept.after, retain_after_interval=kept.after_interval)
    assert kept.after > 0.6
    assert (mixed.holds, mixed.verdict) == (None, HOLDS[None])


def test_the_summary_counts_every_verdict():
    pairs = [judged(*each) for each in ((0.9, 0.9, 0.9, 0), (0.9, 0.2, 0.9, 0), (0.9, 0.6, 0.9, 0))]
    check = ContrastCheck("m", ("map",), (*pairs, judged(0.9, 0.9, 0.05, 0)))
    assert check.summary() == [
        "holds for 1 of 3 pairs that the model can do; does not hold for 1, inconclusive for 1"
    ]
    nothing = ContrastCheck("m", ("map",), (judged(0.9, 0.9, 0.05, 0),))
    assert nothing.summary() == ["there is no pair whose two tasks the model can both do"]
    assert ContrastCheck.from_dict(json.loads(json.dumps(check.as_dict()))) == check


def test_a_pair_stored_without_its_prefixes_is_refused():
    """An older version counted questions that share demonstrations as independent."""
    stored = judged(0.9, 0.6, 0.9, 0.0, number=41).as_dict()
    assert Contrasted.from_dict(stored).holds is None
    del stored["prefixes"]
    with pytest.raises(StoreError, match="of another version"):
        Contrasted.from_dict(stored)
