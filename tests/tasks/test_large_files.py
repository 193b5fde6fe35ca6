"""Files are streamed: memory does not grow with the length of their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from large_files import check_in_new_process, write_lines

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="peak memory is read as Linux reports it"
)


def test_a_large_file_is_streamed(tmp_path):
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl"
    write_lines(small, 100, different=90)
    with large.open("w") as file:
        for i in range(300):
            file.write(f'{{"prompt": "{i} {"x" * 200_000}", "target": " a"}}\n')
    (examples, problems, repeated, memory), repeats = check_in_new_process(small)
    assert (examples, problems, repeated) == (100, 0, 10)
    assert repeats[0] == "line 91 repeats line 1"
    assert len(repeats) == 10
    (examples, problems, _, more_memory), _ = check_in_new_process(large)
    assert (examples, problems) == (300, 0)
    assert more_memory - memory < 10_000  # kB; the file has 60 MB
