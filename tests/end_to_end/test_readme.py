"""What the README tells people to type is run as it stands."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_commands(tmp_path):
    commands = [line[2:] for block in blocks("console") for line in block.splitlines()]
    assert len(commands) >= 4
    for command in commands:
        words = shlex.split(command, comments=True)
        assert words[0] == "headatlas"
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    for name in ("spread.pdf", "roles.pdf"):
        assert (tmp_path / name).stat().st_size > 1000
    assert sorted(path.name for path in (tmp_path / "first-look").iterdir()) == [
        "figures",
        "maps",
        "run.json",
        "units",
    ]


def test_the_python_example(tmp_path):
    (code,) = blocks("python")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "layer" in done.stdout


def test_the_example_of_a_task_file_is_one(tmp_path):
    from headatlas.tasks import load_task

    (line,) = blocks("json")
    (tmp_path / "mine.jsonl").write_text(line)
    assert load_task(str(tmp_path / "mine.jsonl")).split("test")[0].target == " wolves"


@pytest.mark.parametrize("target", ["atlas", "test"])
def test_the_makefile_has_the_commands_of_the_readme(target):
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)
