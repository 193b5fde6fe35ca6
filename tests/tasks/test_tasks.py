"""Tasks: built-in ones, and the user's own files."""

from __future__ import annotations

import json

import pytest

from headatlas.errors import TaskError
from headatlas.tasks import BUILT_IN, Example, Task, load_task


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in_tasks_ask_what_they_show(name):
    task = load_task(name)
    assert task.name == name
    assert not {each.prompt for each in task.shots} & {each.prompt for each in task.test}
    assert len({each.prompt for each in task.test}) == len(task.test)
    prefix = task.prefix(seed=0)
    for example in task.examples(seed=0):
        assert example.prompt.startswith(prefix)


def test_the_seed_draws_the_solved_examples():
    task = load_task("singular-plural")
    assert task.prefix(1) == task.prefix(1)
    assert len({task.prefix(seed) for seed in range(10)}) > 5
    assert task.prefix(0).count("Q:") == 5


def test_the_hash_follows_the_content():
    def make(**changes):
        content = {"test": (Example("a", "b"),), "version": 1}
        return Task(name="t", description="", **(content | changes)).hash

    assert make() == make()
    assert make() == Task("other name", 1, "other words", (Example("a", "b"),)).hash
    assert make() != make(version=2)
    assert make() != make(test=(Example("a", "c"),))
    assert make() != make(separator=" ")


def test_a_file_of_ones_own(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"prompt": "1+1=", "target": "2"}\r\n\r\n{"prompt":"x","target":" y"}'
    )
    task = load_task(str(path))
    assert task.name == "mine"
    assert task.examples(seed=3) == [Example("1+1=", "2"), Example("x", " y")]
    assert len(task.examples(seed=0, limit=1)) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b'{"prompt": "a", "target": "b"}\n{oops', "line 2 .* is not JSON, column 2"),
        (b'["a", "b"]', "line 1 .* is not a JSON object"),
        (b'{"prompt": "a"}', "line 1 .*'target' is missing"),
        (b'{"prompt": 3, "target": "b"}', "'prompt' is 3, but should be text"),
        (b'{"prompt": "a", "target": ""}', "'target' is"),
        (rb'{"prompt": "a \ud800", "target": "b"}', "lone surrogate"),
        (b'{"prompt": "a", "target": "b"}\n\xff\xfe', "line 2 .* is not UTF-8"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(tmp_path, content, message):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(TaskError, match=message) as caught:
        load_task(str(path))
    assert "\n" not in str(caught.value)


def test_unknown_tasks_are_one_sentence(tmp_path):
    with pytest.raises(TaskError, match=r"no task 'plural'.*Did you mean 'singular-plural'"):
        load_task("plural")
    with pytest.raises(TaskError, match="cannot be read: No such file"):
        load_task(str(tmp_path / "none.jsonl"))
    with pytest.raises(TaskError, match="has no examples"):
        Task("t", 1, "", ())
    with pytest.raises(TaskError, match="wants 2 solved examples but has 0"):
        Task("t", 1, "", (Example("a", "b"),), n_shots=2)
    assert json.dumps(load_task("singular-plural").description)
