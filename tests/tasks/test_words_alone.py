"""The bag-of-words classifier can tell what is there to tell, and cannot what is not."""

from __future__ import annotations

import random

import pytest

from headatlas.errors import TaskError
from headatlas.tasks import Example, Task
from headatlas.tasks.words_alone import bag_of_words, words_alone


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
    assert words_alone(make(telling=True), last_only=True).accuracy > 0.95


def test_a_bag_of_words_ignores_case_and_order():
    texts = ["Add 2 to 3", "add it", "Find the name", "find where"]
    classifier = bag_of_words().fit(texts, ["math", "math", "lookup", "lookup"])
    assert classifier.predict(["3 TO ADD", "NAME: FIND!"]).tolist() == ["math", "lookup"]
    words = classifier[0].get_feature_names_out()
    assert set(words) == {"add", "2", "to", "3", "it", "find", "the", "name", "where"}


def test_one_class_is_nothing_to_guess():
    with pytest.raises(TaskError, match="has 0 functions"):
        words_alone(Task.of("t", [Example("a", "b")]))
