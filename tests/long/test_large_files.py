"""A million lines are checked in little memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from large_files import check_in_new_process, write_lines

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not Path("/proc/self/status").exists(), reason="peak memory is read as Linux reports it"
    ),
]

LINES = 1_000_000


def test_a_million_lines_are_checked_in_little_memory(tmp_path):
    path = tmp_path / "million.jsonl"
    write_lines(path, LINES, different=LINES - 5)
    (examples, problems, repeated, memory), repeats = check_in_new_process(path)
    assert (examples, problems, repeated) == (LINES, 0, 5)
    assert repeats[0] == "line 999996 repeats line 1"
    assert memory < 500_000
