"""headatlas task show | check | baseline"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

import headatlas as ha
from headatlas.models.load import loader


def test_show_prints_prompts_targets_and_token_counts(headatlas):
    code, printed, _ = headatlas("task", "show", "antonym:instruction", "--n", 2)
    assert code == 0
    assert printed.count("Give the opposite of the word.") == 2
    assert "form instruction" in printed
    assert " + 1 tokens" in printed
    assert "26 demonstrations, 73 train, 24 select, 62 test" in printed


def test_show_works_on_files_and_in_chat_form(headatlas, tmp_path):
    path = tmp_path / "q.csv"
    path.write_text("question,answer\nWho[red]?,Me\n")
    code, printed, said = headatlas(
        "task", "show", path, "--columns", "prompt=question,target=answer",
        "--template", r"Q: {prompt}\nA: {target}",
    )  # fmt: skip
    assert code == 0
    assert "Q: Who[red]?\nA: Me" in printed
    assert "too few questions to divide" in said
    code, printed, _ = headatlas("task", "show", "ioi:chat", "-n", 1)
    assert code == 0
    assert "<|im_start|>user" in printed


def test_check_reports_line_by_line(headatlas, tmp_path):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"prompt": "a", "target": " b"}\n{"prompt": 3}\n{oops\n')
    code, printed, _ = headatlas("task", "check", path)
    assert code == 2
    assert "line 2, column 'prompt': is 3, but should be text" in printed
    assert "line 3, column 2: not JSON" in printed
    assert "2 problems: a run would refuse" in printed
    code, printed, _ = headatlas("task", "check", path, "--json")
    assert code == 2
    assert json.loads(printed)[str(path)]["problems"] == 2


def test_check_of_a_sound_file(headatlas, tiny_folder, tmp_path):
    path = tmp_path / "good.jsonl"
    rows = [{"prompt": "a", "target": " b"}, {"prompt": "x" * 600, "target": " b"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    code, printed, _ = headatlas("task", "check", path, "--model", tiny_folder)
    assert code == 0
    assert "examples: 2, of 2 different questions" in printed
    assert "too long for the model's context even alone, left out by a run: 1" in printed
    assert "sound" in printed


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["task", "show", "antonymm"], "Did you mean 'antonym'?"),
        (["task", "show", "antonym", "--split", "all"], "no split 'all'"),
        (["task", "check", "nothing.jsonl"], "cannot be read: No such file"),
        (["task", "check", "x.jsonl", "--columns", "prompt"], "maps no column"),
        (["task", "check", "x.jsonl", "--columns", "prompt=a,prompt=b"], "is mapped twice"),
        (["task", "check", "antonym"], "'antonym' is built in"),
        (["task", "show", "antonym:key:"], "no form 'key' for 'antonym'"),
        (["task", "show", "antonym:icl=" + "9" * 5000], "cannot be a file"),
        (["task", "show", "antonym", "--model", "x[/b]"], "no file or folder x[/b]"),
        (
            ["task", "baseline", "--task", "antonym:icl=99"],
            "needs 99 demonstrations, but the task 'antonym:icl=99' has 26",
        ),
    ],
)
def test_mistakes_are_one_sentence(headatlas, arguments, sentence):
    code, _, said = headatlas(*arguments)
    assert code == 2
    assert sentence in said


def test_baseline_prints_accuracy_and_chance(headatlas, embedded, monkeypatch):
    monkeypatch.setattr(loader, "load_model", lambda name, **how: embedded)
    code, printed, _ = headatlas(
        "task", "baseline", "--task", "capitalize", "--task", "commonsense", "--examples", 12,
        "--json",
    )  # fmt: skip
    assert code == 0
    capitalize, commonsense = json.loads(printed)
    assert capitalize["above_chance"]
    assert capitalize["accuracy"] > 0.7
    assert commonsense["chance"] >= 0.2
    assert not commonsense["above_chance"]


def test_baseline_says_at_chance_only_where_that_is_shown(headatlas, tiny_folder, tmp_path):
    path = tmp_path / "coins.jsonl"
    rows = [{"prompt": f"Toss {i}:", "target": (" heads", " tails")[i % 2]} for i in range(30)]
    path.write_text("\n".join(map(json.dumps, rows)))
    words = ("task", "baseline", "--model", tiny_folder, "--examples", 8, "--task")
    for task, verdict in (("antonym", "unclear"), (path, "AT CHANCE")):
        code, printed, _ = headatlas(*words, task)
        assert code == 0
        assert verdict in printed


def test_what_is_not_known_of_a_baseline_is_null_or_a_dash(
    headatlas, tiny_folder, tmp_path, monkeypatch
):
    path = tmp_path / "yes.jsonl"  # no other target to shuffle with
    rows = [{"prompt": f"Is it {i}?", "target": " yes"} for i in range(20)]
    path.write_text("\n".join(map(json.dumps, rows)))
    words = ("task", "baseline", "--model", tiny_folder, "--examples", 4, "--task", path)
    code, printed, _ = headatlas(*words, "--json")
    assert code == 0
    assert "NaN" not in printed
    (row,) = json.loads(printed)
    unknown = ("shuffled_logprob", "gain_low", "gain_high", "gain")
    assert [row[name] for name in unknown] == [None] * 4
    measured, nan = ha.measure_baseline, float("nan")
    monkeypatch.setattr(
        ha,
        "measure_baseline",
        lambda *given, **named: replace(
            measured(*given, **named), accuracy_low=nan, accuracy_high=nan
        ),
    )
    code, printed, _ = headatlas(*words)
    assert code == 0
    assert "% (–)" in printed
    assert "nan" not in printed


def test_markup_in_a_file_is_text(headatlas, tmp_path):
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps({"prompt": "[red]a", "target": " b", "function": "[/b]"}))
    code, printed, _ = headatlas("task", "show", path)
    assert code == 0
    assert "[/b]" in printed
    assert "[red]a b" in printed


def test_a_terminal_that_knows_ascii_alone(tiny_folder):
    words = ["task", "show", "english-french", "-n", "60", "--model", str(tiny_folder)]
    done = subprocess.run(
        [sys.executable, "-m", "headatlas", *words],
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"\\xe9" in done.stdout or b"\\xe1" in done.stdout


def test_list_shows_every_task(headatlas):
    code, printed, _ = headatlas("list", "tasks")
    assert code == 0
    for name in ("math", "syntax", "cognition", "greater-than", "hub:NAME"):
        assert name in printed
