"""Text classifiers tell what is there to tell in their view, and cannot tell what is not."""

from __future__ import annotations

import random

import pytest

from headatlas.errors import TaskError
from headatlas.tasks import VIEWS, Example, Task, bag_of_words, predict_from_text
from headatlas.tasks.text_baseline import MATCHED, StepText
from headatlas.tasks.words_alone import words_alone


def make(telling):
    rng = random.Random(0)
    rows = []
    for i in range(240):
        function = "abcd"[i % 4]
        word = {"a": "sum", "b": "where", "c": "mean", "d": "choose"}[function]
        noise = rng.choice(["sum", "where", "mean", "choose"])
        text = f"story {i}\n\nQ: {word if telling else noise} it\nA:"
        rows.append(Example(text, " x", function=function, group=str(i)))
    return Task.of("t", rows)


def test_telling_words_are_found_and_others_are_not():
    open_words = words_alone(make(telling=True))
    assert open_words.accuracy > 0.95
    assert open_words.chance == 0.25
    hidden = words_alone(make(telling=False))
    assert hidden.accuracy < 0.40
    assert words_alone(make(telling=True), view="last step").accuracy > 0.95


def test_a_bag_of_words_ignores_case_and_order():
    texts = ["Add 2 to 3", "add it", "Find the name", "find where"]
    classifier = bag_of_words().fit(texts, ["math", "math", "lookup", "lookup"])
    assert classifier.predict(["3 TO ADD", "NAME: FIND!"]).tolist() == ["math", "lookup"]
    words = classifier[0].get_feature_names_out()
    assert set(words) == {"add", "2", "to", "3", "it", "find", "the", "name", "where"}


def test_one_class_is_nothing_to_guess():
    with pytest.raises(TaskError, match="has 0 functions"):
        words_alone(Task.of("t", [Example("a", "b")]))


def planted(place):
    """Steps whose function stands in one place only: the step, the answer, a copy, the story."""
    rng = random.Random(1)
    words = {"a": "amber", "b": "birch", "c": "coral", "d": "denim"}
    rows = []
    for i in range(240):
        function = "abcd"[i % 4]
        parts = {
            name: (words[function] if name == place else rng.choice([*words.values()])) + ending
            for name, ending in (("step", "ish"), ("answer", "oid"), ("story", "wood"))
        }
        if place == "copied":
            parts["answer"] = f"nut{i}"
            parts["story"] = f"nut{i}" if function in "ab" else "none"
        story = f"Pia saw {parts['story']} on day {i}."
        prompt = f"{story}\n\nQ: Was it {parts['step']}?\nA:"
        rows.append(Example(prompt, f" {parts['answer']}", function=function, group=str(i)))
    return rows[:160], rows[160:]


def accuracy(place, view):
    train, test = planted(place)
    predicted = predict_from_text(train, test, view)
    return sum(a == b.function for a, b in zip(predicted, test, strict=True)) / len(test)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("place", ["step", "answer", "story"])
def test_a_view_reads_its_own_part_and_no_other(view, place):
    reads = {
        "prompt": ("step", "story"),
        "last step": ("step",),
        "answer": ("answer",),
        "last step and answer": ("step", "answer"),
        "all": ("step", "answer", "story"),
        MATCHED: ("step", "answer", "story"),
    }
    if place in reads[view]:
        assert accuracy(place, view) > 0.95
    else:
        assert accuracy(place, view) < 0.45


def test_copying_alone_is_seen():
    """Two of four functions copy their answers: knowing that gives half, chance is a quarter."""
    assert accuracy("copied", "answer") > 0.40
    assert accuracy("copied", "last step") < 0.40


def test_the_matched_sentence_shares_most_words_with_step_and_answer():
    story = "Ana has a red kite. Ben sold the drum to Cleo. It rained."
    prompt = f"{story}\n\nQ: Who bought the drum?\nA:"
    assert StepText.of(Example(prompt, " Cleo")).matched == "Ben sold the drum to Cleo."


def test_an_unknown_view_is_refused():
    with pytest.raises(TaskError, match="no view 'title' of a text: use prompt, last step"):
        predict_from_text([], [], "title")
