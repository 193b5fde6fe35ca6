"""What the untouched model scores on a task, and what is said of a task at chance level."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from itertools import islice
from math import isnan, nan

import pytest
import torch

import task_page
from headatlas.errors import TaskError
from headatlas.methods import baseline as baseline_module
from headatlas.methods.baseline import Baseline, measure_baseline
from headatlas.methods.endings import Answer
from headatlas.stats.ability import Ability
from headatlas.tasks import BUILT_IN, Example, Task, load_task
from headatlas.tasks.forms import Form

CANNOT_DO = ("commonsense", "english-french", "cognition")
SAMPLE = 32


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in BUILT_IN if name != "cognition"])
def test_the_figures_of_the_page_are_found_again(embedded, name):
    """On the whole split: 32 questions after eight prefixes would decide little. `cognition` alone
    takes as long as all others together."""
    written = task_page.read_figures()[name]
    baseline = measure_baseline(embedded, load_task(name))
    assert baseline.can_do == (name not in CANNOT_DO), baseline.warning()
    assert baseline.examples == written["examples"]
    assert baseline.chance == pytest.approx(written["chance"])
    assert baseline.accuracy == pytest.approx(written["accuracy"], abs=0.03)
    assert baseline.logprob == pytest.approx(written["logprob"], abs=0.01)
    assert baseline.shuffled_logprob == pytest.approx(written["shuffled_logprob"], abs=0.01)


def test_what_the_page_says_the_model_can_do():
    stored = {
        name: task_page.stored_baseline(figures)
        for name, figures in task_page.read_figures().items()
    }
    assert {name for name, baseline in stored.items() if not baseline.can_do} == set(CANNOT_DO)
    assert not stored["cognition"].above_chance
    assert {name for name, baseline in stored.items() if baseline.by_gain} == {"math", "syntax"}


def test_chance_is_the_tasks_own_figure_whichever_questions_are_drawn(tiny):
    choices = [(" x", " y") if number % 4 == 0 else () for number in range(40)]
    task = Task.of(
        "mixed",
        [Example(f"p{i}:", " x" if some else f" {i}", some) for i, some in enumerate(choices)],
    )
    chances = {measure_baseline(tiny, task, limit=2, seed=seed).chance for seed in range(6)}
    assert len(chances) == 1


def numbers(count):
    """Questions whose answer cannot be known: chance level for every model."""
    return Task.of(
        "coins",
        [
            Example(f"Toss {i}:", (" heads", " tails")[i * 7 % 5 % 2], (" heads", " tails"))
            for i in range(count)
        ],
    )


def test_a_task_at_chance_is_reported_as_such(tiny):
    baseline = measure_baseline(tiny, numbers(40))
    assert not baseline.above_chance
    assert "chance" in baseline.verdict
    assert f"{baseline.verdict} on this task: accuracy" in baseline.warning()
    assert baseline.facts()["task_warning"] == baseline.warning()
    assert baseline.facts()["task_chance"] == baseline.chance


def test_a_task_that_the_model_can_do_carries_no_warning(embedded):
    baseline = measure_baseline(embedded, load_task("capitalize"), limit=SAMPLE)
    assert (baseline.verdict, baseline.warning()) == ("can do", None)
    assert "task_warning" not in baseline.facts()
    assert baseline.facts()["task_accuracy"] > 0.5


def of_accuracy(share, low, high, chance=0.5, **changes):
    baseline = Baseline("t", "", "accuracy", 64, 0, share, low, high, chance, -1, -2, 0.5, 1.5)
    return replace(baseline, **changes)


def test_what_is_at_chance_and_what_is_not_known():
    """At chance level: the interval ends within 0.05 of chance. A wide interval shows nothing."""
    above, at, vague = (
        of_accuracy(0.8, 0.7, 0.9),
        of_accuracy(0.48, 0.42, 0.54),
        of_accuracy(0.5, 0.3, 0.7),
    )
    assert [each.above_chance for each in (above, at, vague)] == [True, False, False]
    assert [each.at_chance for each in (above, at, vague)] == [False, True, False]
    assert [each.verdict for each in (above, at, vague)] == [
        "can do",
        "at chance level",
        "not shown to be above chance (n = 64)",
    ]
    assert vague.warning().startswith("not shown to be above chance (n = 64) on this task")
    by_gain = partial(of_accuracy, 1.0, 1.0, 1.0, measure="logprob", chance=0.02)
    assert by_gain(gain_low=0.25, gain_high=0.3).verdict == "can do"
    assert by_gain(gain_low=-0.1, gain_high=0.04).verdict == "at chance level"
    assert by_gain(gain_low=-0.1, gain_high=0.2).verdict.startswith("not shown")
    assert "+1.00 nats per token likelier" in by_gain(gain_low=-0.1, gain_high=0.2).warning()


@pytest.mark.parametrize("intervals", [[(0.4, 0.6), (nan, nan)], [(nan, nan), (0.4, 0.6)]])
def test_where_one_interval_is_unknown_so_is_the_widest(intervals):
    assert all(map(isnan, baseline_module._widest(intervals)))
    assert baseline_module._widest([(0.4, 0.6), (0.3, 0.5)]) == (0.3, 0.6)


def test_an_unknown_interval_shows_nothing():
    by_accuracy = of_accuracy(0.9, nan, nan)
    by_gain = of_accuracy(1.0, 1.0, 1.0, 0.02, measure="logprob", gain_low=nan, gain_high=nan)
    for unknown in (by_accuracy, by_gain):
        assert unknown.ability is Ability.NOT_ABOVE
        assert unknown.verdict == "not shown to be above chance (n = 64)"


def test_above_chance_is_not_enough():
    """English-French: 3 % right (1-10 %) where guessing gets 0.4 %."""
    rare = of_accuracy(0.028, 0.008, 0.096, chance=0.004)
    assert rare.above_chance
    assert not rare.can_do
    assert rare.verdict == "above chance, but too rarely right for a map"
    assert rare.warning() == (
        "above chance, but too rarely right for a map on this task: accuracy 3%, chance 0%, "
        "64 examples"
    )
    few = of_accuracy(0.7, 0.55, 0.8)
    assert few.verdict == "above chance, but not shown to be right often enough for a map (n = 64)"
    assert few.warning().startswith(f"{few.verdict} on this task: accuracy 70%")
    assert of_accuracy(0.7, 0.6, 0.8).can_do
    by_gain = partial(of_accuracy, 1.0, 1.0, 1.0, measure="logprob", chance=0.02, logprob=-1.0)
    small = by_gain(shuffled_logprob=-1.1, gain_low=0.05, gain_high=0.15)
    assert small.ability is Ability.TOO_RARELY
    assert small.verdict == "above chance, but too rarely right for a map"
    wide = by_gain(shuffled_logprob=-1.4, gain_low=0.05, gain_high=0.75)
    assert "not shown" in wide.verdict


def test_the_stored_figures_get_their_verdicts_from_their_numbers():
    verdicts = {
        name: task_page.stored_baseline(figure).ability
        for name, figure in task_page.read_figures().items()
    }
    others = {
        "commonsense": Ability.NOT_ABOVE,
        "english-french": Ability.TOO_RARELY,
        "cognition": Ability.NOT_ABOVE,
    }
    assert verdicts == {name: others.get(name, Ability.CAN_DO) for name in BUILT_IN}


def test_answers_that_can_be_guessed_are_counted():
    """Far likelier than another question's answer, but right no more often than by guessing."""
    guessed = of_accuracy(0.12, 0.08, 0.17, chance=0.13, measure="logprob", gain_low=4.0)
    assert not guessed.above_chance
    assert "accuracy 12%, chance 13%" in guessed.warning()
    assert replace(guessed, chance=0.01).can_do


def test_questions_after_the_same_demonstrations_are_one_cluster(tiny, monkeypatch):
    """Four prefixes of which two have all answers right are not sixteen questions, half right."""
    numbers_seen = iter(range(100))

    def answers(model, batch):
        right = next(numbers_seen) % 2 == 0
        return [Answer(example.question, right, -1.0, -2.0, 1) for example, _ in batch]

    monkeypatch.setattr(baseline_module, "answer_endings", answers)
    shown = measure_baseline(tiny, replace(numbers(80), form=Form("icl", 2)), limit=16)
    alone = measure_baseline(tiny, numbers(80), limit=16)
    assert shown.accuracy == alone.accuracy == 0.5
    assert shown.accuracy_high - shown.accuracy_low > 0.75
    assert alone.accuracy_high - alone.accuracy_low < 0.5


@pytest.mark.parametrize("max_tokens", [1, 300, 800, 1500])
def test_max_tokens_limits_the_work(tiny, max_tokens, monkeypatch):
    task = numbers(400)
    whole = measure_baseline(tiny, task)
    asked = []
    real = baseline_module.answer_endings
    monkeypatch.setattr(
        baseline_module,
        "answer_endings",
        lambda model, batch: asked.extend(batch) or real(model, batch),
    )
    counts = []
    few = measure_baseline(tiny, task, max_tokens=max_tokens, progress=counts.append)
    assert 1 <= few.examples == len(asked) < whole.examples
    assert sum(counts) == whole.examples  # what is left out is reported, so that a bar gets full
    used = sum(
        len(tiny.encode(example.prompt, ending))
        for example, control in asked
        for ending in {*example.choices, control}
    )
    longest = 3 * max(len(tiny.encode(example.prompt, " heads")) for example, _ in asked)
    assert used <= max_tokens + longest
    assert few.examples * longest + 2 * longest > max_tokens
    assert all(example.target != control for example, control in asked)


def test_many_tokens_are_no_limit(tiny):
    task = numbers(40)
    assert measure_baseline(tiny, task, max_tokens=10**9) == measure_baseline(tiny, task)


def test_a_stored_baseline_comes_back(tiny):
    baseline = measure_baseline(tiny, numbers(40))
    assert Baseline.from_dict(json.loads(json.dumps(baseline.as_dict()))) == baseline


def check_whole_passes(model, task):
    """Shared prefixes and shared prompts change nothing: every ending alone gives the same."""
    batches = task.batches("test", baseline_module.QUESTIONS_PER_PREFIX, 0, epochs=1)
    batch = [example for batch in islice(batches, 2) for example in batch][:6]
    right, logprobs = [], []
    for example in batch:
        endings = example.choices or (example.target,)
        rows = [model.encode(example.prompt, end) for end in endings]
        scores = [model.score([row], share=False) for row in rows]
        own = endings.index(example.target)
        logprobs.append(float(scores[own].mean()[0]))
        totals = torch.cat([score.total() for score in scores])
        right.append(int(totals.argmax()) == own if example.choices else bool(scores[0].exact()[0]))
    baseline = measure_baseline(model, task, limit=6)
    assert baseline.logprob == pytest.approx(sum(logprobs) / 6, abs=1e-4)
    assert baseline.accuracy == pytest.approx(sum(right) / 6)


@pytest.mark.parametrize(
    "name",
    [
        "antonym",
        pytest.param("commonsense", marks=pytest.mark.long),
        pytest.param("cognition", marks=pytest.mark.long),
    ],
)
def test_accuracy_and_log_probability_are_those_of_whole_passes(embedded, name):
    check_whole_passes(embedded, load_task(name))


def test_choices_and_prompts_of_a_small_model_are_scored_as_alone(tiny):
    check_whole_passes(tiny, numbers(60))


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


def test_a_choice_that_is_given_twice_counts_once(tiny):
    twice = Example("q", " x", choices=(" x", " x", " y"))
    assert twice.choices == (" x", " y")
    task = Task.of("t", [replace(twice, prompt=f"q{i}") for i in range(12)])
    assert measure_baseline(tiny, task).chance == 1.0  # always the same target
    chat = Example("q", " a", choices=(" a", "a", " b"))
    assert len(replace(chat, target="a", choices=("a", "a", "b")).choices) == 2


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


def test_equal_content_under_two_names_has_the_same_baseline(tiny):
    told = []
    one = measure_baseline(tiny, numbers(20), progress=told.append)
    other = measure_baseline(tiny, replace(numbers(20), name="dice"), progress=told.append)
    assert (one.task, other.task) == ("coins", "dice")
    assert sum(told) == 2 * one.examples
    assert replace(other, task="coins") == one


def test_without_other_targets_nothing_is_claimed():
    baseline = Baseline("t", "", "logprob", 5, 0, 1, 1, 1, 1, -1, *[float("nan")] * 3)
    assert not baseline.above_chance
