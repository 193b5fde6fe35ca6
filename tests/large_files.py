"""Large task files, and the memory that checking them takes."""

from __future__ import annotations

import json
import subprocess
import sys

CODE = r"""
import re, sys
from headatlas.tasks import check_file
report = check_file(sys.argv[1])[sys.argv[1]]
peak = re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1]
print(report.examples, report.problems, report.repeated, peak)
print(*report.repeats, sep="; ")
"""


def write_lines(path, lines, different):
    """A file with this number of lines, in which prompts start again after `different` of them."""
    with path.open("w") as file:
        for i in range(lines):
            number = i % different
            prompt = f"Q: what is {number} times {number % 97}?\nA:"
            row = {"prompt": prompt, "target": f" {number * (number % 97)}"}
            file.write(json.dumps(row) + "\n")


def check_in_new_process(path):
    """Examples, problems and repeats of a file, the peak memory in kB, and the first repeats."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(path)], capture_output=True, check=True, text=True
    )
    numbers, repeats = done.stdout.splitlines()
    return [int(number) for number in numbers.split()], repeats.split("; ")
