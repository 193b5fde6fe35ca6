"""Progress where there is no terminal: plain lines that say what, how far and how long still."""

from __future__ import annotations

import io
import re
import time

import pytest
from rich.console import Console

import headatlas as ha
from headatlas.cli import screen
from headatlas.cli.screen import Display

SHORT = 0.05


@pytest.fixture
def printed(monkeypatch):
    """What a display prints to a file, a line every 50 ms."""
    file = io.StringIO()
    monkeypatch.setattr(screen, "LINE_INTERVAL", SHORT)
    monkeypatch.setattr(screen, "stderr", Console(file=file, width=40))
    return file


def wait_for_lines(printed, count=1):
    deadline = time.monotonic() + 10
    while printed.getvalue().count("\n") < count and time.monotonic() < deadline:
        time.sleep(SHORT / 5)
    return printed.getvalue().splitlines()


def test_lines_come_without_news_and_say_how_far_and_how_long(printed):
    with Display() as display:
        display(ha.Progress("gating of math", 0, 78))
        time.sleep(SHORT)
        display(ha.Progress("gating of math", 26, 78, "seed 0, G, update 26, loss 1.2"))
        lines = wait_for_lines(printed, 3)
    pattern = r"gating of math: 26 of 78, \d[\d.]* (ms|s) left \(seed 0, G, update 26, loss 1\.2\)"
    assert re.fullmatch(pattern, lines[-1])
    assert len(lines) >= 3  # the work said nothing meanwhile


def test_names_in_brackets_are_printed_as_they_are():
    file = io.StringIO()
    shown = screen.table("label", "value", left=("label",))
    shown.add_row("[/inst] [math] y", "1")
    Console(file=file, width=80).print(shown)
    assert "[/inst] [math] y" in file.getvalue()


def test_work_of_unknown_length_says_how_long_it_has_taken(printed):
    with Display() as display:
        display(ha.Progress("loading tiny", 0, None))
        (line, *_) = wait_for_lines(printed)
    assert re.fullmatch(r"loading tiny: \d[\d.]* (ms|s) so far", line)


def test_work_that_has_not_begun_does_not_guess(printed):
    with Display() as display:
        display(ha.Progress("gating of math", 0, 78))
        (line, *_) = wait_for_lines(printed)
    assert line == "gating of math: 0 of 78, time left unknown"


@pytest.mark.parametrize("total", [0, 2])
def test_no_more_is_done_than_there_is(printed, total):
    with Display() as display:
        display(ha.Progress("reading", 3, total))
        (line, *_) = wait_for_lines(printed)
    done = re.search(r"(\d+) of (\d+)", line)
    assert done is None if total == 0 else int(done[1]) <= int(done[2])


def test_finished_work_is_not_mentioned_again(printed):
    with Display() as display:
        display(ha.Progress("first", 1, 2))
        display(ha.Progress("first", 2, 2, finished=True))
        display(ha.Progress("second", 1, 2))
        lines = wait_for_lines(printed, 2)
    assert all(line.startswith("second: 1 of 2") for line in lines)
    time.sleep(3 * SHORT)
    assert printed.getvalue().splitlines()[: len(lines)] == lines
    assert printed.getvalue().count("\n") <= len(lines) + 1  # nothing after the end


def test_two_works_at_once_have_a_line_each(printed):
    with Display() as display:
        display(ha.Progress("outer", 1, 4))
        display(ha.Progress("inner", 2, 3))
        lines = wait_for_lines(printed, 2)
    assert {line.partition(":")[0] for line in lines[:2]} == {"outer", "inner"}


def test_a_terminal_gets_bars_and_no_lines(monkeypatch):
    file = io.StringIO()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(screen, "LINE_INTERVAL", SHORT)
    monkeypatch.setattr(screen, "stderr", Console(file=file, width=120, force_terminal=True))
    with Display() as display:
        display(ha.Progress("gating of math", 1, 2, "seed 0"))
        time.sleep(3 * SHORT)
        display(ha.Progress("gating of math", 3, 2, finished=True))
    shown = file.getvalue()
    assert "gating of math: seed 0" in shown
    assert " of 2" not in shown
    assert "3/3" in shown  # never more than the total
    assert "3/2" not in shown


def test_a_long_command_prints_lines_without_a_terminal(
    headatlas, tiny_folder, tasks, tmp_path, monkeypatch
):
    monkeypatch.setattr(screen, "LINE_INTERVAL", 0.02)
    words = ("gate", "--model", tiny_folder, "--task", tasks[0], "--out", tmp_path / "out")
    code, _, error = headatlas(*words, "--steps", "20", "--batch-size", "4", "--seeds", "2")
    assert code == 0, error
    assert re.search(
        r"^gating of a: \d+ of 106, [\d.]+ (ms|s) left \(seed \d, ", error, re.MULTILINE
    )
