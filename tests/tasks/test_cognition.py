"""The suite `cognition`: neither a step nor its answer gives away the function it needs."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict

import pytest

from headatlas.tasks import FUNCTIONS, SPLITS, VIEWS, load_task, predict_from_text
from headatlas.tasks.suites.listed import read_text
from headatlas.tasks.text_baseline import StepText
from headatlas.tasks.words_alone import words_alone

MOST = 0.35
"""Limit of a text classifier's accuracy; chance is 0.125."""

QUESTIONS = [json.loads(line) for line in read_text("cognition.jsonl").splitlines()]
STEPS = [(question, step) for question in QUESTIONS for step in question["steps"]]
EXAMPLES = [example for examples in load_task("cognition").splits.values() for example in examples]


def share_by_function(holds):
    """The share of a function's examples for which something holds."""
    counts, held = Counter(), Counter()
    for example in EXAMPLES:
        counts[example.function] += 1
        held[example.function] += holds(example)
    return {name: held[name] / counts[name] for name in counts}


def test_it_is_large_and_balanced():
    assert Counter(example.function for example in EXAMPLES) == dict.fromkeys(FUNCTIONS, 160)
    assert len({question["id"] for question in QUESTIONS}) == 320
    assert len({example.group for example in EXAMPLES}) == 80


def test_every_topic_has_every_function():
    seen = defaultdict(set)
    for example in EXAMPLES:
        seen[example.metadata["topic"]].add(example.function)
    assert len(seen) == 40
    assert all(functions == set(FUNCTIONS) for functions in seen.values())


def test_prompts_hold_the_question_and_the_earlier_steps():
    last = {example.metadata["question"]: example for example in EXAMPLES}
    for question in QUESTIONS:
        prompt = last[question["id"]].prompt
        assert prompt.startswith(question["question"])
        for step in question["steps"][:-1]:
            assert f"Q: {step['ask']}\nA: {step['answer']}\n" in prompt
        assert prompt.endswith(f"Q: {question['steps'][-1]['ask']}\nA:")


def test_a_step_is_asked_for_four_functions_with_the_same_answer():
    functions, answers = defaultdict(list), defaultdict(set)
    for question, step in STEPS:
        functions[question["scene"], step["ask"]].append(step["function"])
        answers[question["scene"], step["ask"]].add(step["answer"])
    assert len(functions) == 320
    assert all(len(names) == len(set(names)) == 4 for names in functions.values())
    assert all(len(one) == 1 for one in answers.values())


FORMS = {
    "yes or no": lambda answer: answer in ("yes", "no"),
    "digits": str.isdigit,
    "capital letter": lambda answer: answer[0].isupper(),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_quarter_of_every_functions_answers_has_a_form(form):
    shares = share_by_function(lambda example: FORMS[form](example.target.strip()))
    assert set(shares.values()) == {0.25}


def test_yes_is_as_common_as_no_in_every_function():
    for name in FUNCTIONS:
        answers = Counter(step["answer"] for _, step in STEPS if step["function"] == name)
        assert 0.8 < answers["yes"] / answers["no"] < 1.25


def test_answers_are_copied_from_the_text_about_as_often_in_all_functions():
    """Retrieved answers are often written differently (six, 6); others mostly stand in the text."""

    def copied(example):
        text = StepText.of(example)
        return set(re.findall(r"\w+", text.answer)) <= set(re.findall(r"\w+", text.question))

    shares = share_by_function(copied)
    assert max(shares.values()) - min(shares.values()) < 0.30, shares


def test_no_fact_and_no_expression_is_in_two_scenes():
    scene_of, kinds = {}, Counter()
    for question, step in STEPS:
        if step["function"] in ("Knowledge Recall", "Semantic Understanding"):
            assert scene_of.setdefault(step["fact"], question["scene"]) == question["scene"]
            kinds[step["function"]] += 1
    assert len(scene_of) == sum(kinds.values()) == 320
    split_of = {}
    for split in SPLITS:
        for example in load_task("cognition").splits[split]:
            if fact := example.metadata.get("fact"):
                assert split_of.setdefault(fact, split) == split


def test_calculations_come_out_right_from_numbers_of_the_text():
    count = 0
    for question, step in STEPS:
        if step["function"] != "Math Calculation":
            continue
        count += 1
        assert str(eval(step["check"], {"__builtins__": {}})).removesuffix(".0") == step["answer"]
        stated = set(re.findall(r"\d+", question["question"].replace(",", "")))
        used = set(re.findall(r"\d+", re.sub(r"'[^']*'", "", step["check"])))
        assert len(used & stated) >= 2, step
    assert count == 160


def test_retrieved_answers_stand_in_the_text():
    words = dict(enumerate("one two three four five six seven eight nine ten eleven".split(), 1))
    words |= {14: "fourteen", 15: "fifteen", 16: "sixteen", 20: "twenty", 30: "thirty"}
    for question, step in STEPS:
        if step["function"] == "Retrieval" and step["answer"] not in ("yes", "no"):
            answer = step["answer"]
            spelled = words[int(answer)] if answer.isdigit() else answer
            text = question["question"].lower()
            assert answer.lower() in text or spelled.lower() in text, step


@pytest.mark.long
@pytest.mark.parametrize("view", VIEWS)
def test_text_alone_does_not_tell_the_function(view):
    task = load_task("cognition")
    test = task.split("test")
    predicted = predict_from_text(task.split("train"), test, view)
    right = sum(name == example.function for name, example in zip(predicted, test, strict=True))
    assert right / len(test) < MOST


@pytest.mark.long
@pytest.mark.parametrize("view", VIEWS)
def test_text_alone_does_not_tell_the_function_in_any_division(view):
    assert words_alone(load_task("cognition"), view).high < MOST
