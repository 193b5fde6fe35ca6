"""What the README tells people to type is run as it stands."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def run(arguments, folder):
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.long
def test_the_commands_and_the_python_examples(tmp_path):
    """All console and Python blocks, in their order and in one folder."""
    found = re.findall(r"```(console|python)\n(.*?)```", README, re.DOTALL)
    assert {language for language, _ in found} == {"console", "python"}
    for language, block in found:
        if language == "python":
            assert run(["-c", block], tmp_path)
            continue
        for line in block.splitlines():
            if not line.startswith("$ "):
                continue  # what the command printed
            words = shlex.split(line[2:], comments=True)
            assert words[0] == "headatlas"
            run(["-m", *words], tmp_path)
            if "--out" in words:
                out = tmp_path / words[words.index("--out") + 1]
                assert out.is_dir() or out.stat().st_size > 1000


def test_the_example_of_a_task_file_is_one(tmp_path):
    from headatlas.tasks import load_task

    for number, block in enumerate(blocks("json")):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(block)
        target = json.loads(block.splitlines()[0])["target"]
        assert load_task(path).split("test")[0].target == target
    assert blocks("json")


def test_every_command_in_the_text_has_options_that_exist():
    """Also the commands that take too long to be run here."""
    from typer.main import get_command

    from headatlas.cli.main import app

    lines = re.findall(r"^(?:    |\$ )headatlas (.*)$", README, re.MULTILINE)
    assert len(lines) >= 10
    for line in lines:
        words = shlex.split(line, comments=True)
        command = get_command(app)
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        options = {name for parameter in command.params for name in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= options, line


@pytest.mark.parametrize("target", ["atlas", "test", "test-all"])
def test_the_makefile_has_the_commands_of_the_readme(target):
    makefile = (ROOT / "Makefile").read_text()
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)
