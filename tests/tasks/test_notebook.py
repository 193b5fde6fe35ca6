"""Short representations of tasks and examples, and HTML for notebooks."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest

from headatlas.tasks import BUILT_IN, Example, Task, load_task

WICKED = '<script>alert(1)</script> & "quotes" </pre>'


class Tags(HTMLParser):
    """Counts tags, and checks that they are closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags(html):
    parser = Tags()
    parser.feed(html)
    assert not parser.open
    return parser.seen


def test_the_repr_of_a_task_is_short():
    assert repr(load_task("math")) == (
        "Task('math', 93 demonstrations + 237 train + 89 select + 181 test, form icl=1)"
    )
    task = Task("t", 1, "", {"test": (Example("a", "b"),)})
    assert repr(task) == "Task('t', 0 demonstrations + 0 train + 0 select + 1 test, form plain)"


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_task_shows_its_splits_and_two_prompts(name):
    task = load_task(name)
    html = task._repr_html_()
    assert tags(html).count("pre") == 2
    for split, examples in task.splits.items():
        assert re.search(rf">{split}</th><td[^>]*>{len(examples)}</td>", html)
    for example in task.prompts(limit=2):
        assert f"{example.prompt}<mark>{example.target}</mark>" in unescape(html)


def test_a_chat_task_without_a_model_shows_its_questions():
    html = load_task("antonym:chat")._repr_html_()
    assert tags(html).count("pre") == 2


def test_a_task_without_test_questions_shows_others():
    task = Task("t", 1, "", {"test": (), "train": (Example("a", "b"),)})
    assert "a<mark>b</mark>" in task._repr_html_()


def test_text_from_files_is_escaped():
    example = Example(
        WICKED,
        WICKED,
        (WICKED, "other"),
        function=WICKED,
        corrupted=WICKED,
        corrupted_target=WICKED,
        group=WICKED,
        metadata={WICKED: WICKED},
    )
    task = Task(WICKED, 1, WICKED, {"test": (example,)})
    for html in (example._repr_html_(), task._repr_html_()):
        assert "script" not in tags(html)
        assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp;" in html
    assert tags(example._repr_html_()).count("tr") == 6


def test_an_example_marks_its_target():
    assert Example("a\nb", " c")._repr_html_().endswith("a\nb<mark> c</mark></pre>")
