"""Names of tasks with their suffixes, and what the library says to nonsense."""

from __future__ import annotations

import json

import pytest

from headatlas.errors import TaskError
from headatlas.tasks import BUILT_IN, Example, Task, check_file, list_tasks, load_task

HINT = "use icl, icl=N, instruction, plain, chat or only=FUNCTION"
ROWS = "\n".join(json.dumps({"prompt": f"q{i}", "target": " a"}) for i in range(20))


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("singular-plural:foo", "foo"),
        ("singular-plural:icl:foo", "foo"),
        ("singular-plural:foo:chat", "foo"),
        ("singular-plural:icl=x", "icl=x"),
        ("singular-plural:only=", "only="),
        ("singular-plural:", ""),
    ],
)
def test_an_unknown_form_is_not_an_unknown_task(name, form):
    with pytest.raises(TaskError) as caught:
        load_task(name)
    assert str(caught.value) == f"no form '{form}' for 'singular-plural': {HINT}."


def test_an_unknown_form_of_a_file(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text(ROWS)
    for name in (path, tmp_path):
        for read in (load_task, check_file):
            with pytest.raises(TaskError, match=f"no form 'foo' for '{name}': use icl"):
                read(f"{name}:foo")


def test_an_unknown_form_of_a_hub_data_set():
    with pytest.raises(TaskError, match="no form 'foo' for 'hub:owner/name': use icl"):
        load_task("hub:owner/name:foo")


def test_file_names_may_contain_colons(tmp_path):
    path = tmp_path / "ioi:foo.jsonl"
    path.write_text(ROWS)
    assert load_task(path).name == "ioi:foo"
    assert str(load_task(f"{path}:icl=2").form) == "icl=2"
    folder = tmp_path / "ioi:bar"
    folder.mkdir()
    (folder / "mine.jsonl").write_text(ROWS)
    assert load_task(folder).name == "ioi:bar"


def test_drives_of_windows_are_not_forms(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "C").mkdir()
    with pytest.raises(TaskError, match=r"C:\\data\\none.jsonl cannot be read: No such file"):
        load_task(r"C:\data\none.jsonl")
    with pytest.raises(TaskError, match=r"no task 'C:\\data\\none'"):
        load_task(r"C:\data\none")
    (tmp_path / r"C:\data.jsonl").write_text(ROWS)
    assert str(load_task(r"C:\data.jsonl:icl=2").form) == "icl=2"


def test_a_list_of_the_built_in_tasks():
    tasks = list_tasks()
    assert list(tasks) == list(BUILT_IN)
    assert tasks["math"].endswith(" (600 examples)")


def test_only_one_function_counts_what_is_left(tmp_path):
    whole, part = load_task("cognition"), load_task("cognition:only=Retrieval")
    number = sum(map(len, part.splits.values()))
    assert number < sum(map(len, whole.splits.values()))
    assert part.summary == f"{whole.description}, only Retrieval ({number} examples)"
    path = tmp_path / "mine.jsonl"
    rows = [
        {"prompt": f"q{i}", "target": " a", "function": "Inference" if i < 9 else "Retrieval"}
        for i in range(20)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    summary = load_task(f"{path}:only=Inference").summary
    assert summary == "a task file in the format 'columns', only Inference (9 examples)"


def test_forms_may_be_given_as_one_text():
    task = load_task("antonym")
    assert str(task.with_form("icl=3").form) == "icl=3"
    assert task.with_form("icl=3:chat") == task.with_form(["icl=3", "chat"])
    assert task.with_form("icl=3:chat").name == "antonym:icl=3:chat"
    assert task.with_form("") is task


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: load_task(None), "the name of a task is None: give a string or a path"),
        (lambda: load_task(["math"]), r"the name of a task is \['math'\]: give a string"),
        (lambda: check_file(3), "the name of a task is 3: give a string or a path"),
        (lambda: load_task("x.jsonl", columns="prompt"), "columns is 'prompt': give a dictionary"),
        (lambda: Task.of("t", []), "the task 't' has no train, select or test questions"),
        (lambda: Task.of("t", ["a"]), r"'a' is not an Example: give Example\(prompt, target\)"),
        (lambda: Task.of(3, [Example("a", "b")]), "the name of a task is 3: give a string"),
        (lambda: load_task("ioi").prompts(limit=0), "limit is 0: give a whole number of at least"),
        (lambda: load_task("ioi").prompts(limit="2"), "limit is '2': give a whole number"),
        (lambda: load_task("ioi").batches(size=0), "size is 0: give a whole number of at least 1"),
        (lambda: load_task("ioi").batches(size=1.5), r"size is 1\.5: give a whole number"),
        (lambda: load_task("ioi").batches(epochs=0), "epochs is 0: give a whole number"),
        (lambda: load_task("ioi").batches("tset"), "no split 'tset'"),
        (lambda: load_task("cognition").only(None), "no function 'None' in the task"),
        (lambda: Example(prompt=3, target=None), "the prompt of an example is 3: give a string"),
        (lambda: Example("a", None), "the target of an example is None: give a string"),
        (lambda: Example("a", 7), "the target of an example is 7: give a string"),
        (lambda: Example("a", "b", "bc"), "choices of an example are 'bc': give a tuple"),
        (lambda: Example("a", "b", ("b", 3)), "the choice of an example is 3: give a string"),
        (lambda: Example("a", "b", corrupted=3), "the corrupted of an example is 3"),
        (lambda: Example("a", "b", metadata=3), "the metadata of an example are 3"),
    ],
)
def test_nonsense_gets_one_sentence(action, message):
    with pytest.raises(TaskError, match=message) as caught:
        action()
    assert "\n" not in str(caught.value)


def test_choices_may_be_a_list():
    assert hash(Example("a", "b", ["b", "c"])) == hash(Example("a", "b", ("b", "c")))
