"""Maps side by side, on hand-made measurements: who is trusted for what, and when nobody is."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, nan

import numpy as np
import pytest

from headatlas.checks.results import About, Faithfulness
from headatlas.checks.results.faithfulness import CurveScore, RemovalCurve
from headatlas.checks.yardstick.curves import KEPT, keep_shares
from headatlas.checks.yardstick.leaderboard import rank_maps
from headatlas.errors import HeadAtlasError
from headatlas.maps import Map
from headatlas.maps.labels import evidence
from headatlas.runs.leaderboard import _distinct
from headatlas.stats.faithfulness import HIGHER_IS_BETTER, KeepCurve
from headatlas.stats.intervals import Change
from headatlas.stats.ratio import needed_change
from headatlas.stats.resampling import bootstrap_change, equal_weights, resampled_weights

PREFIXES = tuple(np.repeat(range(6), 4).tolist())
GOOD_AND_BAD = (("good", 0.8), ("bad", 0.3))
CLEAR, HARDLY = 0.02, 0.08
"""Standard errors of a map's lead of 0.2 over shuffled orders: p < 1e-6, and p = 0.02."""


def judged(method, small=0.5, *, error=CLEAR, gain=0.1, half=0.9, noise=0.02, task="math", seed=0):
    """A map whose small circuits have a faithfulness of `small`, its large ones of `half`; heads
    are worth 2 nats, and the worst of them cost `gain`."""
    rng = np.random.default_rng([seed, *method.encode()])
    whole = np.random.default_rng(1).normal(-1.0, 0.1, len(PREFIXES))
    empty = whole - 2
    shares = np.array(keep_shares())
    f = np.where(shares <= 0.2, small, half)[:, None] + rng.normal(0, noise, (13, len(PREFIXES)))
    f[-1] = 1.0
    kept = empty + 2 * f
    kept[list(shares).index(0.98)] = whole + gain + rng.normal(0, noise, len(PREFIXES))
    needed = needed_change(whole, empty + rng.normal(0, 0.01, len(PREFIXES)), PREFIXES)
    curve = KeepCurve(keep_shares(), KEPT, kept, whole, empty, needed.above is True)
    means, draws = curve.scores(equal_weights(24)), curve.scores(resampled_weights(PREFIXES))
    scores = {
        name: CurveScore(
            bootstrap_change(float(means[name][0]), draws[name], 6),
            (-0.001, 0.001, -0.001, 0.001),
            Change(0.2, 0.1, 0.3),
            (error**2, 23.0),
        )
        for name in HIGHER_IS_BETTER
    }
    drawn = RemovalCurve(keep_shares(), (0,) * 13, (Change(0.0, 0.0, 0.0),) * 13, ())
    return Faithfulness(
        About(f"{task}.{method}", "hash", "model", task, 24), "mean", "logprob", 24, 0,
        "model hash", f"{task} hash", "questions hash", PREFIXES, KEPT, -1.0, -3.0, needed,
        drawn, drawn, scores, tuple(map(tuple, kept.tolist())), tuple(whole.tolist()),
        tuple(empty.tolist()), 64.0, method, 0.9,
    )  # fmt: skip


def row_of(board, method, task="math"):
    return next(row for row in board.rows if (row.method, row.task) == (method, task))


def line_of(board, use):
    return next(line for line in board.summary() if line.startswith(use))


def test_a_map_is_behind_the_best_and_does_not_serve():
    board = rank_maps([judged("good", 0.8), judged("bad", 0.3)], {"math.good": 7.0})
    good, bad = row_of(board, "good"), row_of(board, "bad")
    assert bad.behind["circuit"].mean == pytest.approx(0.5, abs=0.05)
    assert bad.behind["circuit"].low > 0
    assert bad.better_maps["circuit"] == ("math.good",)
    assert good.behind["circuit"].mean == 0
    assert good.better_maps["circuit"] == ()
    assert good.serves("circuit")
    assert not bad.serves("circuit")
    assert good.seconds == 7.0
    assert isnan(bad.seconds)
    line = line_of(board, "To find a small circuit")
    words = "on the one task, circuits of up to 20 % of the heads keep 80% ("
    assert line.startswith(f"To find a small circuit, trust good: {words}")
    assert "also better than shuffled: bad" in line


def test_a_map_that_is_shown_to_be_worse_than_any_other_does_not_serve():
    """The best mean is too noisy to show anything; the second map shows that the third is worse."""
    maps = [judged("noisy", 0.75, noise=2.0, seed=1), judged("second", 0.6), judged("third", 0.5)]
    board = rank_maps(maps, {})
    best = max(board.rows, key=lambda row: row.scores["circuit"].mean)
    assert best.method == "noisy"
    assert row_of(board, "third").behind["circuit"].above is None
    assert row_of(board, "third").better_maps["circuit"] == ("math.second",)
    assert not row_of(board, "third").serves("circuit")


def test_equal_maps_are_rarely_called_better_however_many_there_are():
    """Of eight equal maps some pair differs at p ≤ 0.05 uncorrected nearly every time."""
    found = 0
    for seed in range(20):
        maps = [judged(f"m{i}", 0.5, noise=0.3, seed=seed) for i in range(8)]
        found += any(row.better_maps["circuit"] for row in rank_maps(maps, {}).rows)
    assert found <= 4


def test_maps_that_tie_are_named_equally():
    maps = [judged("one", 0.5, noise=0.3), judged("two", 0.51, noise=0.3), judged("bad", 0.0)]
    line = line_of(rank_maps(maps, {}), "To find a small circuit")
    assert "trust two and one: on the one task, circuits" in line or (
        "trust one and two: on the one task, circuits" in line
    )
    assert "each better than with heads shuffled within layers" in line


def test_beating_chance_is_corrected_for_all_maps_of_the_task():
    """p = 0.02 is enough for one map, and not for three."""
    maps = [judged(method, error=HARDLY) for method in ("one", "two", "three")]
    assert rank_maps(maps[:1], {}).rows[0].beats_chance["circuit"] is True
    board = rank_maps(maps, {})
    assert {row.beats_chance["circuit"] for row in board.rows} == {None}
    assert "on the one task, no method is shown to be better than heads shuffled" in (
        line_of(board, "To find a small circuit")
    )
    worse = replace(maps[0], scores={
        name: replace(score, better=Change(-0.2, -0.3, -0.1), from_questions=(1e-4, 23.0))
        for name, score in maps[0].scores.items()
    })  # fmt: skip
    assert rank_maps([worse], {}).rows[0].beats_chance["circuit"] is False


def with_controls(result, *controls):
    scores = result.scores.items()
    return replace(result, scores={k: replace(v, controls=controls) for k, v in scores})


def test_orders_that_are_alike_by_luck_do_not_make_a_map_better():
    """Those of the other maps of the task tell how far orders differ."""
    lucky = judged("lucky")
    assert rank_maps([lucky], {}).rows[0].beats_chance["circuit"] is True
    others = [with_controls(judged(name), -0.5, 0.5, -0.5, 0.5) for name in ("one", "two")]
    board = rank_maps([lucky, *others], {})
    assert row_of(board, "lucky").beats_chance["circuit"] is None


TASKS = ("a", "b", "c", "d", "e", "f")


def over_tasks(noise=0.02, **small):
    """Maps of every method on six tasks, all alike."""
    return [
        judged(method, value, noise=noise, task=task, seed=number)
        for number, task in enumerate(TASKS)
        for method, value in small.items()
    ]


def test_what_no_task_shows_alone_all_may_show_together():
    """A lead of 0.2 over orders that differ by 0.1, and so by 0.11 in one task: p = 0.09."""
    maps = [with_controls(one, 0.3, 0.5, 0.35, 0.45) for one in over_tasks(good=0.6, other=0.59)]
    maps = [
        replace(one, scores={k: replace(v, better=Change(0.2, nan, nan)) for k, v in own})
        for one in maps
        for own in [one.scores.items()]
    ]
    board = rank_maps(maps, {})
    assert not any(row.beats_chance["circuit"] for row in board.rows)
    assert all(one.beats_chance for one in board.overall if one.score == "circuit")
    assert all(one.advantage.low > 0 for one in board.overall if one.score == "circuit")


def test_a_task_on_which_a_method_fails_counts_in_the_mean():
    maps = over_tasks(one=0.6, two=0.5)
    lost = [replace(m, about=m.about) for m in maps if m.about.map != "a.one"]
    board = rank_maps([judged("one", -3.0, task="a"), *lost], {})
    mean = next(o for o in board.overall if (o.method, o.score) == ("one", "circuit")).value.mean
    assert mean == pytest.approx((5 * 0.6 - 3) / 6, abs=0.03)
    assert "trust two:" in line_of(board, "To find a small circuit")


def test_methods_as_good_as_each_other_are_all_trusted():
    small = dict.fromkeys(("one", "two", "three", "four"), 0.6)
    board = rank_maps(over_tasks(**small, noise=0.3), {})
    assert len(board.trusted("circuit")) == 4


def test_two_methods_are_compared_over_all_tasks():
    board = rank_maps(over_tasks(one=0.55, two=0.5, three=0.3), {})
    found = {(p.one, p.other): p for p in board.pairs if p.score == "circuit"}
    assert len(found) == 3
    assert found["one", "three"].ahead.mean == pytest.approx(0.25, abs=0.02)
    assert found["one", "three"].better is True
    assert found["one", "three"].turned().better is False
    assert found["one", "three"].turned().ahead.mean == -found["one", "three"].ahead.mean
    assert found["one", "three"].worse == found["one", "three"].turned().worse == "three"


def test_where_the_better_method_is_not_shown_to_beat_chance_both_are_named():
    maps = over_tasks(one=0.55, two=0.7)
    wild = [with_controls(m, -4.0, 4.0, -4.0, 4.0) if m.method == "two" else m for m in maps]
    scores = [
        {k: replace(v, better=Change(0.2 if m.method == "one" else 0.01, nan, nan)) for k, v in own}
        for m in maps
        for own in [m.scores.items()]
    ]
    near = [replace(m, scores=own) for m, own in zip(maps, scores, strict=True)]
    assert "trust no map" not in line_of(rank_maps(maps, {}), "To find a small circuit")
    line = line_of(rank_maps(near, {}), "To find a small circuit")
    assert "one is better than heads shuffled within layers, but two is shown to be better" in line
    assert "trust no map" in line_of(rank_maps(wild, {}), "To find a small circuit")


def test_a_useless_circuit_is_not_trusted():
    """It beats chance and all others, and keeps 2 % of the heads' contribution."""
    board = rank_maps(over_tasks(one=0.02, two=-0.5), {})
    assert all(o.beats_chance for o in board.overall if o.score == "circuit")
    line = line_of(board, "To find a small circuit")
    assert (
        "trust no map: over 6 tasks, no circuit of up to 20 % of the heads is shown to keep" in line
    )


def test_a_later_look_has_to_show_more():
    again = judged("one", error=HARDLY)
    again = replace(again, about=replace(again.about, look=2))
    (row,) = rank_maps([again], {}).rows
    assert row.beats_chance["circuit"] is None
    assert row.level == pytest.approx(0.99)
    assert row.percent == "99 %"


@pytest.mark.parametrize(
    ("settings", "score", "words"),
    [
        ({"gain": -0.4}, "gain", "removing the least important 2 % is not shown to improve"),
        ({"small": 0.1}, "circuit", "no circuit of up to 20 % of the heads is shown to keep"),
        ({"half": 0.5}, "removable", "removing up to half of the heads"),
    ],
)
def test_a_map_that_does_not_find_what_is_wanted_is_not_trusted(settings, score, words):
    """Not even if it beats chance and every other map."""
    maps = [judged("one", **settings), judged("two", **settings)]
    board = rank_maps(maps, {})
    assert all(row.beats_chance[score] for row in board.rows)
    assert not any(row.serves(score) for row in board.rows)
    assert any(f"trust no map: on the one task, {words}" in line for line in board.summary())
    fine = rank_maps([judged("one"), judged("two")], {})
    assert any(row.serves(score) for row in fine.rows)


def test_a_model_that_is_better_without_half_of_its_heads_can_lose_them():
    """What is gained is no loss: f = 1.4 without them."""
    board = rank_maps([judged("one", half=1.4), judged("two", half=0.2)], {})
    assert row_of(board, "one").scores["removable"].mean < 0
    assert "trust one" in line_of(board, "To find what can be removed")


def test_methods_without_a_map_of_every_task_are_named_and_block_no_other():
    maps = [judged(method, task=task) for task in ("a", "b") for method in ("one", "two")]
    board = rank_maps([*maps, judged("three", 0.9, task="a")], {})
    assert row_of(board, "one", "a").better_maps["circuit"] == ("a.three",)
    assert "trust" in line_of(board, "To find a small circuit")
    assert "trust no map" not in line_of(board, "To find a small circuit")
    assert board.incomplete == ("three",)
    assert "(no map of every task: three)" in line_of(board, "To find a small circuit")


def test_the_largest_group_with_equal_questions_is_ranked_and_the_rest_is_told():
    other = replace(judged("three", 0.9), questions_hash="other", questions=48)
    board = rank_maps([other, judged("one"), judged("two")], {})
    assert board.methods == ("one", "two")
    assert board.left_out == ("math.three (judged on other questions)",)
    assert board.summary()[-1] == "Not ranked: math.three (judged on other questions)."
    assert board.questions == 24
    more = rank_maps([judged("one"), other], {})
    assert more.methods == ("three",)  # as many maps: more questions


def test_tasks_of_one_name_are_not_compared():
    other = replace(judged("three"), task_hash="other")
    board = rank_maps([judged("one"), judged("two"), other], {})
    assert board.left_out == ("math.three (of another task of that name)",)


def test_models_are_not_mixed():
    with pytest.raises(HeadAtlasError, match="there are 2 kinds"):
        rank_maps([judged("one"), replace(judged("two"), model_hash="other")], {})


def test_a_board_among_others_has_a_file_of_its_own():
    alone = rank_maps([judged("one")], {})
    assert alone.file_name == "leaderboard"
    assert (
        rank_maps([judged("one")], {}, other_models=["b"]).file_name == "leaderboard-model-model-ha"
    )


def test_of_maps_with_one_label_the_one_with_more_examples_is_ranked():
    zeros = {"effect": (("layer", "head"), np.zeros((1, 2)))}
    facts = {"model": "model", "task": "math", "method": "ablation"}
    maps = [
        Map.of(zeros, {**facts, "examples_used": number, "settings": {"examples": number}})
        for number in (8, 32)
    ]
    names = [head_map.name for head_map in maps]
    assert names[0] != names[1]
    results = [
        replace(judged("one"), about=replace(judged("one").about, map=name)) for name in names
    ]
    chosen, left_out = _distinct(results, maps)
    assert [one.about.map for one in chosen] == [names[1]]
    assert left_out[0].startswith(f"{names[0]} (superseded by {names[1]}, also by ablation")


def test_the_replacement_that_was_used_is_told():
    assert (
        "replacing the removed ones by mean, which favours maps"
        in (rank_maps([judged("one"), judged("two")], {}).summary()[3])
    )


def not_needed(one):
    """The same map of a task that the model is not shown to need its heads for."""
    unknown = Change(float("nan"), float("nan"), float("nan"))
    nothing = CurveScore(unknown, (), unknown, (float("nan"), 1.0))
    scores = {name: score if name == "gain" else nothing for name, score in one.scores.items()}
    return replace(one, needed=Change(0.0, -0.1, 0.1), scores=scores)


def test_a_task_without_faithfulness_does_not_hide_what_others_show():
    maps = [judged(name, small, task=t) for name, small in GOOD_AND_BAD for t in ("math", "ioi")]
    maps += [not_needed(judged(name, small, task="aba")) for name, small in GOOD_AND_BAD]
    line = line_of(rank_maps(maps, {}), "To find a small circuit")
    assert "trust good: over the 2 of 3 tasks for which the model is shown to" in line
    assert "80% (" in line


def test_the_longer_of_two_gating_maps_rests_on_more():
    def gates(steps):
        scores = {"facilitation": (("seed", "layer", "head"), np.zeros((1, 1, 2)))}
        losses = {"loss": (("seed", "stage", "step"), np.zeros((1, 3, steps)))}
        facts = {"model": "m", "task": "math", "method": "gating", "settings": {"batch_size": 16}}
        return Map.of(scores, facts, {"seed": [0], **losses})

    assert evidence(gates(60)) > evidence(gates(18)) == (16 * 54, 1)


def test_where_heads_are_not_needed_nobody_serves():
    maps = [not_needed(one) for one in (judged("one"), judged("two"))]
    board = rank_maps(maps, {})
    assert "unknown, as the model is not shown to need" in line_of(board, "To find a small circuit")
    assert not any(row.serves("circuit") for row in board.rows)
    assert isnan(board.rows[0].behind["circuit"].mean)
    assert board.rows[0].behind["gain"].mean >= 0
    board.plot()
