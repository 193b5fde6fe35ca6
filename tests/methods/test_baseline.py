"""What the untouched model can do, and the warning that maps of a task at chance carry."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

import task_page
from headatlas.errors import TaskError
from headatlas.maps import load_map
from headatlas.methods import Ablation
from headatlas.methods.baseline import Baseline, _share_interval, measure_baseline
from headatlas.plots import heatmap
from headatlas.tasks import BUILT_IN, Example, Task, load_task

ABOVE_CHANCE = [name for name in BUILT_IN if name not in ("commonsense", "english-french")]
SAMPLE = 32


@pytest.mark.parametrize("name", ABOVE_CHANCE)
def test_the_embedded_model_is_above_chance(embedded, name):
    found = measure_baseline(embedded, load_task(name), limit=SAMPLE)
    assert found.above_chance, found.warning()
    if name in ("math", "syntax", "cognition"):
        assert found.measure == "logprob"
        assert found.gain_low > 0


@pytest.mark.parametrize("name", ["singular-plural", "aba"])
def test_the_figures_of_the_page_are_found_again(embedded, name):
    written = task_page.read_figures()[name]
    found = measure_baseline(embedded, load_task(name))
    assert found.examples == written["examples"]
    assert found.accuracy == pytest.approx(written["accuracy"], abs=0.03)
    assert found.logprob == pytest.approx(written["logprob"], abs=0.01)
    assert found.shuffled_logprob == pytest.approx(written["shuffled_logprob"], abs=0.01)


def numbers(count):
    """Questions whose answer cannot be known: chance level for every model."""
    return Task.of(
        "coins",
        [
            Example(f"Toss {i}:", (" heads", " tails")[i * 7 % 5 % 2], (" heads", " tails"))
            for i in range(count)
        ],
    )


def test_a_task_at_chance_is_said_to_be_in_every_map_of_it(tiny, tmp_path):
    task = numbers(40)
    found = measure_baseline(tiny, task)
    assert not found.above_chance
    assert "at chance level on this task: accuracy" in found.warning()
    drawn = Ablation(heads=((0, 0),)).run(tiny, task)
    assert drawn.provenance["task_warning"] == found.warning()
    again = load_map(drawn.save(tmp_path / "m.nc"))
    assert again.provenance["task_warning"] == found.warning()
    assert any("chance level" in text.get_text() for text in heatmap(again).texts)


def test_a_task_above_chance_carries_no_warning(embedded):
    drawn = Ablation(heads=((0, 0),), examples=2).run(embedded, load_task("capitalize"))
    assert "task_warning" not in drawn.provenance
    assert drawn.provenance["task_accuracy"] > 0.5
    assert not heatmap(drawn).texts


def test_accuracy_and_log_probability_are_those_of_whole_passes(embedded):
    """Shared prefixes and shared prompts change nothing: every ending alone gives the same."""
    for name in ("antonym", "commonsense", "cognition"):
        task = load_task(name)
        batch = next(task.batches("test", 16, 0, epochs=1))[:6]
        right, logprobs = [], []
        for example in batch:
            endings = example.choices or (example.target,)
            rows = [embedded.encode(example.prompt, end) for end in endings]
            scores = [embedded.score([row], share=False) for row in rows]
            own = endings.index(example.target)
            logprobs.append(float(scores[own].mean()[0]))
            totals = torch.cat([score.total() for score in scores])
            right.append(
                int(totals.argmax()) == own if example.choices else bool(scores[0].exact()[0])
            )
        found = measure_baseline(embedded, task, limit=6)
        assert found.logprob == pytest.approx(sum(logprobs) / 6, abs=1e-4)
        assert found.accuracy == pytest.approx(sum(right) / 6)


def test_shuffled_targets_are_of_the_same_function_and_never_the_own(tiny):
    from random import Random

    from headatlas.methods.baseline import _shuffle

    rows = [Example(f"q{i}", f" t{i % 4}", function="ab"[i % 2], group=str(i)) for i in range(20)]
    others = _shuffle(rows, Random(0))
    functions = {each.target: each.function for each in rows}
    for row, other in zip(rows, others, strict=True):
        assert other != row.target
        assert functions[other] == row.function
    assert _shuffle([Example("a", "b"), Example("c", "b")], Random(0)) == [None, None]


def test_chance_is_the_best_guess_without_looking(tiny):
    constant = Task.of("t", [Example(f"q{i}", " yes" if i % 4 else " no") for i in range(7)])
    assert measure_baseline(tiny, constant).chance == pytest.approx(5 / 7)
    assert measure_baseline(tiny, constant, limit=2).chance == pytest.approx(5 / 7)
    assert measure_baseline(tiny, numbers(40)).chance >= 0.5


def test_questions_that_do_not_fit_are_counted(tiny):
    rows = [Example("ab", " c"), Example("cd", " e"), Example("x" * 600, " y")]
    assert measure_baseline(tiny, Task.of("t", rows)).too_long == 1
    with pytest.raises(TaskError, match="no question of 'u' fits the context of tiny"):
        measure_baseline(tiny, Task.of("u", rows[2:]))


def test_equal_content_under_two_names_is_measured_once_and_named_twice(tiny):
    told = []
    one = measure_baseline(tiny, numbers(20), progress=told.append)
    other = measure_baseline(tiny, replace(numbers(20), name="dice"), progress=told.append)
    assert (one.task, other.task) == ("coins", "dice")
    assert told == [one.examples, one.examples]
    assert replace(other, task="coins") == one


def test_intervals_of_shares_count_questions():
    """Four copies of every question do not make the interval narrower."""
    right = np.array([1.0, 0.0, 1.0] * 5)
    names = [str(i) for i in range(15)]
    low, high = _share_interval(right, names)
    expected = binomtest(10, 15).proportion_ci(0.95, method="wilson")
    assert low == pytest.approx(expected.low, abs=0.02)
    assert high == pytest.approx(expected.high, abs=0.02)
    assert _share_interval(np.repeat(right, 4), np.repeat(names, 4)) == pytest.approx((low, high))
    all_right = binomtest(15, 15).proportion_ci(0.95, method="wilson")
    assert _share_interval(np.ones(60), np.repeat(names, 4))[0] == pytest.approx(all_right.low)


def test_without_other_targets_nothing_is_claimed():
    found = Baseline("t", "", "logprob", 5, 0, 1, 1, 1, 1, -1, *[float("nan")] * 3)
    assert not found.above_chance
