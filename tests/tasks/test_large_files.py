"""Large files are streamed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

LINES = 1_000_000
CODE = r"""
import re, sys
from headatlas.tasks import open_sources
from headatlas.tasks.files.read import check_source
report = check_source(open_sources(sys.argv[1])[0])
peak = re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1]
print(report.examples, report.problems, peak)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory as Linux tells it")
def test_a_million_lines_are_checked_in_little_memory(tmp_path):
    path = tmp_path / "million.jsonl"
    with path.open("w") as file:
        for i in range(LINES):
            row = {"prompt": f"Q: what is {i} times {i % 97}?\nA:", "target": f" {i * (i % 97)}"}
            file.write(json.dumps(row) + "\n")
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(path)], capture_output=True, check=True, text=True
    )
    examples, problems, memory = map(int, done.stdout.split())
    assert (examples, problems) == (LINES, 0)
    assert memory < 500_000
