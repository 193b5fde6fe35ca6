"""The commands that measure heads on examples: ablate, patch, attribute, attention, writes."""

from __future__ import annotations

import numpy as np
import pytest

import headatlas as ha
from headatlas.cli.compare import show_comparison
from headatlas.cli.top import unbroken
from headatlas.maps import compare_maps
from maps.made_maps import question_halves


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.jsonl"
    path.write_text(
        "".join(
            f'{{"prompt": "ab d{i} c", "target": "d", "choices": ["d", "e"], '
            f'"corrupted": "xb d{i} c", "corrupted_target": "e"}}\n'
            for i in range(40)
        ),
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize(
    ("words", "variable", "label"),
    [
        (("ablate",), "effect", "fall of log P when removed (nats per token)"),
        (
            ("ablate", "--replacement", "resample", "--groups", "--measure", "difference"),
            "effect",
            "fall of the log P difference when removed (nats)",
        ),
        (
            ("patch", "--positions", "changed", "--measure", "probability"),
            "indirect_effect",
            "indirect effect on P(target)",
        ),
        (("attribute",), "effect", "estimated fall of log P when removed"),
        (("attribute", "--steps", "6"), "effect", "share of the fall of log P when all heads are"),
        (("attribute", "--integrated"), "effect", "share of the fall of log P when all heads are"),
        (("attention",), "induction", "attention to what followed earlier occurrences"),
        (
            ("attention", "--score", "target_token", "--seeds", "2"),
            "target_token",
            "attention to the target's first token in the prompt",
        ),
        (("writes",), "direct_logit", "direct effect on the target's logit, above the mean logit"),
        (
            ("writes", "--measure", "difference", "--tokens", "2", "--seeds", "2"),
            "direct_logit",
            "direct effect on the target's logit, above those of other answers",
        ),
    ],
)
def test_a_map_its_table_and_figure(
    headatlas, tiny_folder, pairs, tmp_path, words, variable, label
):
    given = ("--model", tiny_folder, "--task", pairs, "--examples", "4", "--no-baseline")
    code, printed, error = headatlas(*words, *given, "--keep-examples", "--out", tmp_path / "out")
    assert code == 0, error
    assert label in printed
    head_map = ha.Atlas(tmp_path / "out").load("pairs")
    assert {variable, f"{variable}_se", f"{variable}_example"} <= set(head_map.variables)
    assert (head_map["kv_group"].shape) == (3, 4)
    assert list((tmp_path / "out" / "figures").glob("*heatmap.pdf"))


def test_mistakes_are_one_sentence(headatlas, tiny_folder, tmp_path):
    bare = tmp_path / "bare.jsonl"
    bare.write_text(
        "".join(f'{{"prompt": "{i} ab", "target": "c"}}\n' for i in range(40)), encoding="utf-8"
    )
    given = ("--model", tiny_folder, "--task", bare, "--out", tmp_path / "out")
    code, _, error = headatlas("patch", *given)
    assert code == 2
    assert "'bare' has no corrupted prompts to patch from" in " ".join(error.split())
    code, _, error = headatlas("ablate", *given, "--positions", "changed")
    assert code == 2
    assert "use the positions all or last" in " ".join(error.split())
    code, _, error = headatlas("attention", *given, "--score", "target_token")
    assert code == 2
    assert "0 of 16 examples of 'bare' do: use another score" in " ".join(error.split())
    code, _, error = headatlas("writes", *given, "--measure", "difference")
    assert code == 2
    assert "no other choices and no corrupted targets" in " ".join(error.split())
    code, _, error = headatlas("attribute", *given, "--measure", "accuracy")
    assert code == 2
    assert "accuracy has no gradient" in error


def test_every_task_gets_a_map(headatlas, tiny_folder, pairs, tmp_path):
    other = pairs.rename(pairs.with_name("other.jsonl"))
    pairs.write_text(other.read_text(encoding="utf-8").replace("ab", "cd"), encoding="utf-8")
    tasks = ("--task", pairs, "--task", other, "--examples", "4", "--no-baseline")
    out = tmp_path / "out"
    code, printed, error = headatlas("attribute", *tasks, "--model", tiny_folder, "--out", out)
    assert code == 0, error
    assert [one.provenance["task"] for one in ha.Atlas(out).maps().values()] == ["other", "pairs"]
    assert "Most important heads of pairs" in printed
    assert "Most important heads of other" in printed


def test_a_task_without_a_map_leaves_the_others(headatlas, tiny_folder, pairs, tmp_path):
    bare = tmp_path / "bare.jsonl"
    bare.write_text(
        "".join(f'{{"prompt": "{i} ab", "target": "c"}}\n' for i in range(40)), encoding="utf-8"
    )
    given = ("--task", bare, "--task", pairs, "--examples", "4", "--no-baseline")
    out = tmp_path / "out"
    code, printed, error = headatlas("patch", *given, "--model", tiny_folder, "--out", out)
    assert code == 2
    assert "note: bare gives no map: 'bare' has no corrupted prompts" in error
    assert "Most important heads of pairs" in printed


def test_fewer_examples_than_asked_for_are_told(headatlas, tiny_folder, pairs, tmp_path):
    given = ("--model", tiny_folder, "--task", pairs, "--no-baseline", "--out", tmp_path / "out")
    code, _, error = headatlas("ablate", "--examples", "100", "--heads", "0.1", *given)
    assert code == 0, error
    assert "train questions: the map is measured on these" in error
    code, _, error = headatlas("knockout", "--examples", "4", "--evaluations", "8", *given)
    assert code == 0, error
    assert "8 evaluations say little of 12 heads: the default is 48" in error
    assert "train questions" not in error


def test_top_warns_of_a_task_that_the_model_cannot_do(headatlas, tiny_folder, pairs, tmp_path):
    given = ("--model", tiny_folder, "--task", pairs, "--examples", "4", "--out", tmp_path / "out")
    assert headatlas("attribute", *given)[0] == 0
    _, printed, _ = headatlas("top", tmp_path / "out")
    assert "CAUTION: the untouched model is" in printed


def test_lines_break_only_between_tokens():
    assert unbroken("' Mel' ' \\'s' \" it's\" 'a'") == "'␣Mel' '␣\\'s' \"␣it's\" 'a'"


def test_a_comparison_says_why_a_ceiling_is_not_known(capsys):
    values = np.random.default_rng(0).normal(size=(2, 1, 4, 5))
    maps = [question_halves(values, method=name, task_form="icl=3") for name in ("ablation", "x")]
    show_comparison(compare_maps(*maps))
    printed = " ".join(capsys.readouterr().out.split())
    assert "– is not known: one seed: all questions follow the same demonstrations" in printed
