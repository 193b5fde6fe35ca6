"""Which pairs a contrast is learned from, and which it is tested on."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import headatlas as ha
from headatlas.errors import DivergedError, HeadAtlasError
from headatlas.maps import Map
from headatlas.runs import contrasting
from headatlas.runs.contrasting import fits_and_tests, published_groups
from headatlas.tasks import Example, Task
from headatlas.tasks.pairs import TaskPairs

PAIRS = [
    tuple(
        Task.of(f"{name}:{form}", [Example(f"{name} {form} {i}", " a") for i in range(9)])
        for form in ("kept", "lost")
    )
    for name in "abcd"
]


def test_every_pair_is_tested_with_gates_learned_from_the_others():
    learned = {
        tested[0][0].name[0]: "".join(task.name[0] for task in pairs.retain)
        for pairs, tested in fits_and_tests(PAIRS, True)
    }
    assert learned == {"a": "bcd", "b": "acd", "c": "abd", "d": "abc"}
    with pytest.raises(HeadAtlasError, match="at least two pairs"):
        list(fits_and_tests(PAIRS[:1], True))


def test_without_leaving_out_all_pairs_are_learned_from_and_tested():
    ((pairs, tested),) = fits_and_tests(PAIRS, False)
    assert len(pairs.retain) == 4
    assert tested == PAIRS


def test_the_published_experiment_has_both_directions_of_six_tasks():
    one, other = published_groups()
    assert [pair[::-1] for pair in one] == other
    assert len(one) == 6


def test_what_diverged_is_not_called_impossible(tmp_path, tiny, monkeypatch):
    """Of two pairs the model cannot do one, and the gates of the other diverge."""
    untouched = iter([SimpleNamespace(possible=False), SimpleNamespace(possible=True)])
    monkeypatch.setattr(contrasting, "_untouched", lambda *given: next(untouched))

    def diverge(*given, **named):
        raise DivergedError("the loss went up")

    atlas = ha.Atlas(tmp_path, tiny, progress=None)
    monkeypatch.setattr(atlas, "map", diverge)
    with pytest.raises(DivergedError, match="every contrast diverged"):
        contrasting.contrast(atlas, PAIRS[:2], ha.Contrast(), 1, leave_one_out=True)


def test_pieces_of_before_the_control_are_not_used_again(tmp_path, tiny):
    """A stored piece of another number of shuffled draws has another name."""
    names = []

    def keep(name, compute):
        names.append(name)
        return compute()

    atlas = ha.Atlas(tmp_path, tiny, progress=None)
    kept, lost = PAIRS[0]
    gates = Map.of({"gate": (("seed", "layer", "head"), np.ones((1, 3, 4)))}, {}, {"seed": [0]})
    pairs = TaskPairs([kept], [lost])
    found = contrasting._tested(atlas, gates, pairs, kept, lost, keep)
    assert len(found.retain_shuffled) == len(found.forget_shuffled) == 4
    before = f"contrast, 2 questions a prefix: {kept.hash} {lost.hash}"
    assert names == [before.replace("prefix:", "prefix, 4 shuffles:")]
